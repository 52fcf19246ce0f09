# SPDX-License-Identifier: Apache-2.0
"""Measurements that train in turn, a step of one and a step of the other.

What slows the machine down for a while then slows both. Each measurement is a
process of its own; it waits for a line on its standard input before a step,
and writes one after it.
"""

import contextlib
import statistics
import subprocess
import sys
import tempfile

from benchmarks import WARM_UP_STEPS, child

_OVER = "turn over"


@contextlib.contextmanager
def turn():
    """Context manager, in the measured process, for a step in its turn."""
    sys.stdin.readline()
    yield
    print(_OVER, flush=True)


class _Measurement:
    """A process of a module of this package that waits for its turns."""

    def __init__(self, module, arguments):
        self._command = child.command_line(module, [*arguments, "--turns"])
        # A pipe would fill up while nobody reads it.
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=child.environment(),
        )
        self._output = ""

    def step(self):
        """Lets it train a step; false where it has come to its end."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if line.strip() == _OVER:
            return True
        self._output = line
        return False

    def result(self):
        """Its result, as of `child.run`, once `step` was false."""
        self._output += self._process.stdout.read()
        status = self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._errors.seek(0)
        return child.result_in(
            self._output, self._command, status, self._errors.read()
        )


def run_in_turn(*runs):
    """Runs measurements side by side, one step at a time.

    Args:
        runs: Pairs of a module that takes `--turns`, and a list of its
            arguments.

    Returns:
        Their results, in order.

    Raises:
        RuntimeError: If a process ended without a result.
    """
    measurements = [_Measurement(*one) for one in runs]
    training = list(measurements)
    while training:
        training = [one for one in training if one.step()]
    return [one.result() for one in measurements]


def train_in_turn(*command_lines):
    """`run_in_turn` for `benchmarks.train_step`, a list of arguments each."""
    return run_in_turn(
        *(("benchmarks.train_step", arguments) for arguments in command_lines)
    )


def counted_times(result):
    """Times of the steps after the warm-up."""
    return result["step_times_s"][WARM_UP_STEPS:]


def ratio(of, to):
    """Median over the turns of `of` / `to`.

    Args:
        of: Step times, those of the first turn first.
        to: Those that they are compared with, in the same turns.
    """
    return statistics.median(a / b for a, b in zip(of, to, strict=True))
