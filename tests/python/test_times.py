# SPDX-License-Identifier: Apache-2.0
"""Times of ops, measured while a planned training goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf
from swapping import (
    MOST_STEPS,
    Net,
    Weights,
    budget,
    equal,
    weights_after,
)

import sn_tf


@pytest.fixture
def reference() -> Weights:
    """What the steps of `net` come to where nothing moves."""
    return weights_after(MOST_STEPS)


@pytest.fixture
def net() -> Iterator[Net]:
    """In a scope in which its steps swap."""
    made = Net()
    with sn_tf.scope(budget(0.6), policy="swap", tiers="host"):
        yield made


def _plan() -> sn_tf.PlanReport:
    (plan,) = sn_tf.report()
    return plan


def test_a_plan_that_moves_something_is_timed(
    reference: Weights, net: Net
) -> None:
    times = []
    for _ in range(MOST_STEPS):
        net.step()
        times.append(_plan().times)
    assert times[0] == "estimated"
    assert times[-1] == "measured"
    assert times == sorted(times)
    assert _plan().swapped_buffers > 0
    assert equal(net.weights(), reference)


def test_steps_that_fail_are_not_timed(net: Net) -> None:
    for _ in range(2):
        net.step()
    weights = net.weights()
    net.factor.assign(float("nan"))
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError):
            net.step()
    assert _plan().times == "estimated"
    net.factor.assign(1.0)
    net.set_weights(weights)
    for _ in range(2):
        net.step()
    assert _plan().times == "measured"


def test_a_profiler_at_work_sees_all_of_its_steps(
    net: Net, tmp_path: Path
) -> None:
    for _ in range(2):
        net.step()
    with tf.profiler.experimental.Profile(str(tmp_path)):
        for _ in range(2):
            net.step()
        assert _plan().times == "estimated"
    (trace,) = tmp_path.rglob("*.xplane.pb")
    assert b"gradient_tape/MatMul/MatMul:" in trace.read_bytes()
    for _ in range(2):
        net.step()
    assert _plan().times == "measured"
