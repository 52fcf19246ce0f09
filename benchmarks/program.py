# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the C++ programs of this package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks import child

# The tree that `make cc-test` builds in, so that neither compiles twice.
_TREE = child.ROOT / "build" / "cmake"


def run(command, what):
    """Runs a command.

    Args:
        command: Its words.
        what: For people.

    Returns:
        What it printed.

    Raises:
        RuntimeError: If it fails; it tells the command and its last output.
    """
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


def build(target):
    """Builds a program and returns its path.

    Args:
        target: Its name in CMakeLists.txt.

    Raises:
        RuntimeError: If there is no CMake, or it fails.
    """
    beside = str(Path(sys.executable).parent)
    search = os.pathsep.join([beside, os.environ.get("PATH", os.defpath)])
    cmake = shutil.which("cmake", path=search)
    if cmake is None:
        raise RuntimeError(
            f"{target} is a C++ program, and there is no cmake to build it "
            f"with, neither beside {sys.executable} nor on the PATH. Install "
            "it: pip install cmake ninja"
        )
    configure = [cmake, "-S", child.ROOT, "-B", _TREE]
    configure.append(f"-DPython3_EXECUTABLE={sys.executable}")
    ninja = shutil.which("ninja", path=search)
    if not (_TREE / "CMakeCache.txt").exists() and ninja is not None:
        configure += ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    run(configure, f"Configuring {target}")
    run([cmake, "--build", _TREE, "--target", target], f"Building {target}")
    return _TREE / target
