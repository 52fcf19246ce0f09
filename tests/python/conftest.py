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

import keras
import pytest
import tensorflow as tf

import sn_tf
from sn_tf import _library

_ROOT = Path(__file__).parents[2]

_RunPython = Callable[[str], "subprocess.CompletedProcess[str]"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--device`."""
    parser.addoption(
        "--device",
        default="CPU:0",
        choices=("CPU:0", "SIM:0"),
        help="device that the tests train on and plan for (%(default)s)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Makes the simulated device where `--device` asks for it."""
    if config.getoption("--device") == "SIM:0":
        sn_tf.sim.configure("6GB", link="unlimited")


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


@pytest.fixture
def run_python() -> _RunPython:
    """Runs a program in a fresh process, where sn_tf can be imported."""

    def run(program: str) -> subprocess.CompletedProcess[str]:
        paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
        return subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=300,
            env={
                **{k: v for k, v in os.environ.items() if k != "SN_TF_DEVICE"},
                "PYTHONPATH": os.pathsep.join(paths),
            },
        )

    return run


@pytest.fixture
def results(run_python: _RunPython) -> Callable[[str], Any]:
    """Runs a program and returns what it printed, as JSON, last."""

    def run(program: str) -> Any:
        done = run_python(program)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run
