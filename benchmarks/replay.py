# SPDX-License-Identifier: Apache-2.0
"""Runs the program that replays recorded allocations.

It is benchmarks/arena_replay.cc, with the allocator that TensorFlow uses in
it, and no part of the library.
"""

import json

from benchmarks import program


def build():
    """Builds the program and returns its path; see `program.build`."""
    return program.build("arena_replay")


def measure(built, trace, allocator, threads):
    """Replays a trace once.

    Args:
        built: As from `build`.
        trace: Path of the trace.
        allocator: "arena", "bfc", "malloc" or "kept".
        threads: How many replay it at once.

    Returns:
        What the program says: see its Report.
    """
    command = [built, trace, allocator, threads]
    return json.loads(program.run(command, "A replay"))
