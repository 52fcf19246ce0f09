# SPDX-License-Identifier: Apache-2.0
"""Beginnings and ends of management and of steps."""

from __future__ import annotations

import dis
import linecache
import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import tensorflow as tf
from swapping import (
    MOST_STEPS,
    Net,
    budget,
    equal,
    ops,
    stored,
    wait_until,
    weights_after,
)

import sn_tf
from sn_tf import _library, activation
from sn_tf.session import Settings


@pytest.fixture
def swapping(tmp_path: Path) -> dict[str, Any]:
    """Settings with which nets swap all the time."""
    return {"tiers": "file", "swap_dir": str(tmp_path), "policy": "swap"}


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_switched_on_and_off_fifty_times(swapping: dict[str, Any]) -> None:
    weights = weights_after(0), weights_after(2)
    net, most = Net(), budget(0.7)
    seen = []
    in_use = []
    for _ in range(50):
        net.set_weights(weights[0])
        sn_tf.enable(most, **swapping)
        net.step()
        net.step()
        sn_tf.disable()
        assert equal(net.weights(), weights[1])
        assert sn_tf.stats().budget_bytes == 0
        seen.append((_open_files(), threading.active_count(), stored()))
        in_use.append(sn_tf.stats().in_use_bytes)
    assert set(seen[1:]) == {seen[1]}
    # TensorFlow keeps each instance of a function, and its scalar constants.
    assert in_use[-1] - in_use[1] < 48 * 2048


def test_two_models_in_turn(swapping: dict[str, Any]) -> None:
    nets = Net(1), Net(2)
    references = [weights_after(MOST_STEPS, seed) for seed in (1, 2)]
    with sn_tf.scope(budget(0.7), **swapping):
        for _ in range(MOST_STEPS):
            for net in nets:
                net.step()
    for net, reference in zip(nets, references, strict=True):
        assert equal(net.weights(), reference)


def test_a_cancelled_step_ends_and_gives_back_what_it_took(
    tmp_path: Path,
) -> None:
    v1 = tf.compat.v1
    in_use = sn_tf.stats().in_use_bytes
    with tf.Graph().as_default(), v1.Session() as v1_session:
        value = v1.placeholder(tf.float32, [])
        handle = ops.sn_swap_out(
            tensor=tf.fill([1000, 100], value),
            tiers="file",
            swap_dir=str(tmp_path),
        )
        queue = v1.FIFOQueue(1, [tf.float32], [[]])
        with tf.control_dependencies([ops.sn_swap_wait(handle=handle)]):
            passed = queue.dequeue()
        with tf.control_dependencies([passed]):
            back = ops.sn_swap_in(handle=handle, T=tf.float32)
        # It waits for the queue until its time is over.
        total = tf.reduce_sum(back)
        for _ in range(3):
            with pytest.raises(tf.errors.DeadlineExceededError):
                v1_session.run(
                    total, {value: 1.0}, v1.RunOptions(timeout_in_ms=200)
                )
            wait_until(lambda: stored() == 0)
            # Less than the tensor: the session keeps constants.
            wait_until(lambda: sn_tf.stats().in_use_bytes < in_use + 100_000)
        v1_session.run(queue.enqueue(0.0))
        assert v1_session.run(total, {value: 1.0}) == 100_000


def _guards_nothing(frame: FrameType) -> bool:
    """Whether what a `with` holds would not be let go after an error here.

    So it is where a `with` is left, and at a `try` that begins its body.
    Tracing comes there, but signals are not handled there.
    """
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    next_one = dis.opname[frame.f_code.co_code[frame.f_lasti]]
    is_left = line.startswith("with ") and next_one == "LOAD_CONST"
    return is_left or (line == "try:" and next_one == "NOP")


class _CtrlC:
    """Interrupts what `activation` does, at its n-th line."""

    def __init__(self, line: int) -> None:
        self._left = line

    def __enter__(self) -> None:
        sys.settrace(self._on_call)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    @property
    def happened(self) -> bool:
        return self._left < 0

    def _on_call(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != activation.__file__:
            return None
        if frame.f_code.co_name == "__exit__":
            return self._past_entrance  # Nothing could guard that.
        return self._on_line

    def _past_entrance(self, *_: object) -> Any:
        return self._on_line

    def _on_line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and not _guards_nothing(frame):
            self._left -= 1
            if self._left == -1:
                raise KeyboardInterrupt
        return self._on_line


def test_ctrl_c_anywhere_puts_everything_back() -> None:
    managing = activation.open_session(Settings.of(budget="8GB"))
    entered = []
    try:
        for line in range(1000):
            ctrl_c = _CtrlC(line)
            try:
                with ctrl_c, activation.Activation(managing):
                    entered.append(line)
            except KeyboardInterrupt:
                pass
            assert sn_tf.stats().budget_bytes == 0
            assert not _library.is_managed()
            assert not activation._active
            assert not activation.lock._is_owned()  # type: ignore[attr-defined]
            if not ctrl_c.happened:
                break
    finally:
        managing.release()
    # Within `start`, and within `stop`.
    assert 10 < entered[0] < line - 10
