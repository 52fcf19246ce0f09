# SPDX-License-Identifier: Apache-2.0
"""Runs a measurement in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def command_line(module, arguments):
    """The command of `python -m module ... --json`."""
    return [sys.executable, "-m", module, *map(str, arguments), "--json"]


def environment():
    """Variables with which the process finds this package."""
    search = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(search)}


def result_in(output, command, status, errors):
    """The JSON object in the last line of `output`.

    Raises:
        RuntimeError: If there is none; it tells the command and its end.
    """
    try:
        return json.loads(output.splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        raise RuntimeError(
            f"No result from: {' '.join(command)}\nExit status {status}. Its "
            f"last output:\n{(output + errors)[-2000:]}"
        ) from None


def run(module, arguments, *, quiet=False, prefix=()):
    """Runs `python -m module ... --json` and returns its result.

    Args:
        module: A module of this package that prints a JSON object last.
        arguments: Its command line, without `--json`.
        quiet: Keep its progress to ourselves.
        prefix: Command that runs the one that follows it, within limits.

    Returns:
        The JSON object; a result with an "error" is one too.

    Raises:
        RuntimeError: If the process ended without a result.
    """
    command = [*prefix, *command_line(module, arguments)]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if quiet else None,
        text=True,
        env=environment(),
        check=False,
    )
    return result_in(done.stdout, command, done.returncode, done.stderr or "")


def failure(one):
    """What a result with an "error" says, for people."""
    return f"{one['mode']}: {one['error']}: {one['message']}"


def unless_failed(one):
    """Returns the result of a training.

    Raises:
        RuntimeError: If the training failed.
    """
    if "error" in one:
        raise RuntimeError(failure(one))
    return one


def train_step(*arguments, quiet=False, prefix=()):
    """Runs `benchmarks.train_step` and returns its result."""
    return run("benchmarks.train_step", arguments, quiet=quiet, prefix=prefix)
