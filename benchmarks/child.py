# SPDX-License-Identifier: Apache-2.0
"""Runs a measurement in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(module, arguments, *, quiet=False):
    """Runs `python -m module ... --json` and returns its result.

    Args:
        module: A module of this package that prints a JSON object last.
        arguments: Its command line, without `--json`.
        quiet: Keep its progress to ourselves.

    Returns:
        The JSON object; a result with an "error" is one too.

    Raises:
        RuntimeError: If the process ended without a result.
    """
    command = [sys.executable, "-m", module, *map(str, arguments), "--json"]
    search = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if quiet else None,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(search)},
        check=False,
    )
    lines = done.stdout.splitlines()
    try:
        return json.loads(lines[-1])
    except (IndexError, json.JSONDecodeError):
        raise RuntimeError(
            f"No result from: {' '.join(command)}\nExit status "
            f"{done.returncode}. Its last output:\n"
            f"{(done.stdout + (done.stderr or ''))[-2000:]}"
        ) from None


def train_step(*arguments, quiet=False):
    """Runs `benchmarks.train_step` and returns its result."""
    return run("benchmarks.train_step", arguments, quiet=quiet)
