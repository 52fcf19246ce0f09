# SPDX-License-Identifier: Apache-2.0
"""What the Python tests share.

sn_tf is imported here, before any test makes a tensor. The arena and its
budget are of the whole process, so every test must leave them as they were.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import pytest

import sn_tf
from sn_tf import _library

_ROOT = Path(__file__).parents[2]


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
def run_python() -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Runs a program in a fresh process, where sn_tf can be imported."""

    def run(program: str) -> subprocess.CompletedProcess[str]:
        paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
        return subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )

    return run
