# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the program that replays recorded allocations.

It is benchmarks/arena_replay.cc, with the allocator that TensorFlow uses in
it, and no part of the library.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks import child

# The tree that `make cc-test` builds in, so that neither compiles twice.
_TREE = child.ROOT / "build" / "cmake"
_TARGET = "arena_replay"


def _run(command, what):
    """Runs `command` and returns what it printed."""
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"{what} failed with exit status {done.returncode}: "
            f"{' '.join(map(str, command))}\nIts last output:\n"
            f"{(done.stdout + done.stderr)[-2000:]}"
        )
    return done.stdout


def build():
    """Builds the program and returns its path.

    Raises:
        RuntimeError: If there is no CMake, or it fails.
    """
    beside = str(Path(sys.executable).parent)
    search = os.pathsep.join([beside, os.environ.get("PATH", os.defpath)])
    cmake = shutil.which("cmake", path=search)
    if cmake is None:
        raise RuntimeError(
            "The replay is a C++ program, and there is no cmake to build it "
            f"with, neither beside {sys.executable} nor on the PATH. Install "
            "it: pip install cmake ninja"
        )
    configure = [cmake, "-S", child.ROOT, "-B", _TREE]
    configure.append(f"-DPython3_EXECUTABLE={sys.executable}")
    ninja = shutil.which("ninja", path=search)
    if not (_TREE / "CMakeCache.txt").exists() and ninja is not None:
        configure += ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    _run(configure, "Configuring the replay")
    _run([cmake, "--build", _TREE, "--target", _TARGET], "Building the replay")
    return _TREE / _TARGET


def measure(program, trace, allocator, threads):
    """Replays a trace once.

    Args:
        program: As from `build`.
        trace: Path of the trace.
        allocator: "arena", "bfc", "malloc" or "kept".
        threads: How many replay it at once.

    Returns:
        What the program says: see its Report.
    """
    command = [program, trace, allocator, threads]
    return json.loads(_run(command, "A replay"))
