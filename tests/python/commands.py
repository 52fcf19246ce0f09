# SPDX-License-Identifier: Apache-2.0
"""Benchmarks as people run them: by their commands."""

import json
import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def run(module, *arguments, **environment):
    """The process of `python -m module`, when it has ended."""
    return subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=_ROOT,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"} | environment,
        check=False,
    )


def printed(done):
    """What such a process printed with `--json`: its last line."""
    return json.loads(done.stdout.splitlines()[-1])
