# SPDX-License-Identifier: Apache-2.0
"""What the Python tests share.

sn_tf is imported here, before any test makes a tensor. The arena and its
budget are of the whole process, so every test must leave them as they were.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Tiers in memory check what comes back, here and in programs of tests.
os.environ["SN_TF_CHECKSUMS"] = "1"

import keras
import pytest
import tensorflow as tf

import sn_tf
from sn_tf import _library

_ROOT = Path(__file__).parents[2]

_RunPython = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--device`."""
    parser.addoption(
        "--device",
        default="CPU:0",
        choices=("CPU:0", "SIM:0"),
        help="device that the tests train on and plan for (%(default)s)",
    )
    parser.addoption(
        "--alone",
        action="store_true",
        help="this process is of one test, which is marked `alone`",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Makes the simulated device where `--device` asks for it."""
    config.addinivalue_line(
        "markers", "alone: other tests' tensors would be in the way"
    )
    if config.getoption("--device") == "SIM:0":
        sn_tf.sim.configure("6GB", link="unlimited")
    # What is imported stays: collections, two for each test, need not see it.
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a test marked `alone` in a process of its own."""
    config = pyfuncitem.config
    marked = pyfuncitem.get_closest_marker("alone") is not None
    if not marked or config.getoption("--alone"):
        return None
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--alone"),
            *("--device", config.getoption("--device"), pyfuncitem.nodeid),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=config.rootpath,
        env=_environment(),
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    return True


@pytest.fixture(autouse=True)
def on_device(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    unmanaged_afterwards: None,
) -> Iterator[None]:
    """Places what a test runs, and plans, on the device of `--device`."""
    device = request.config.getoption("--device")
    if device == "CPU:0":
        yield
        return
    monkeypatch.setenv("SN_TF_DEVICE", device)
    with tf.device(f"/device:{device}"):
        yield


@pytest.fixture(autouse=True)
def unmanaged_afterwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails a test that leaves management on, and switches it off."""
    for name in [name for name in os.environ if name.startswith("SN_TF_")]:
        if name != "SN_TF_CHECKSUMS":
            monkeypatch.delenv(name)
    _free_models()
    yield
    left_managed = _library.is_managed()
    left_budget = sn_tf.stats().budget_bytes
    sn_tf.disable()
    _free_models()
    assert not left_managed
    assert left_budget == 0


def _free_models() -> None:
    """Frees what earlier tests left in the arena: Keras models are cycles."""
    keras.backend.clear_session()
    gc.collect()


def _environment() -> dict[str, str]:
    paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
    return {
        **{k: v for k, v in os.environ.items() if k != "SN_TF_DEVICE"},
        "PYTHONPATH": os.pathsep.join(paths),
    }


@pytest.fixture
def run_python() -> _RunPython:
    """Runs a program in a fresh process, where sn_tf can be imported."""

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            env=_environment(),
        )

    return run


@pytest.fixture
def start_python() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts such a process; ends it with the test."""
    started = []

    def start(program: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env=_environment(),
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def results(run_python: _RunPython) -> Callable[[str], Any]:
    """Runs a program and returns what it printed, as JSON, last."""

    def run(program: str) -> Any:
        done = run_python(program)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run
