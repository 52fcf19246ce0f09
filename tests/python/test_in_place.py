# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow writes in place is planned to be."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import sn_tf

_MB = 10**6
_SIDE = 1024
_BYTES = 4 * _SIDE**2

# Graphs in flight hold a bit more than tensors: what plans leave for it.
_SLACK = 0.2 * _MB


def _chain(x: tf.Tensor) -> tf.Tensor:
    for factor in (0.5, 0.6, 0.7, 0.8):
        x = tf.sin(x * factor)
    return tf.reduce_sum(x)


def _shared(x: tf.Tensor) -> tf.Tensor:
    """What is read later too is not written over."""
    first = tf.sin(x * 0.5)
    second = tf.cos(first * 0.5)
    return tf.reduce_sum(first * second)


def _run(step: Callable[[Any], Any], budget: int) -> tuple[int, int]:
    """Peaks over what was in use before: planned and measured."""
    x = tf.ones([_SIDE, _SIDE])
    function = tf.function(step)
    gc.collect()
    before = sn_tf.stats().in_use_bytes
    with sn_tf.scope(before + budget):
        for _ in range(4):
            function(x)
        sn_tf.reset_peak()
        function(x)
        (plan,) = [one for one in sn_tf.report() if one.is_planned]
        peak = sn_tf.stats().peak_bytes
    return plan.planned_peak_bytes - before, peak - before


@pytest.mark.parametrize(
    ("step", "buffers"), [(_chain, 1), (_shared, 2)], ids=["chain", "shared"]
)
def test_planned_peaks_are_measured_ones(step: Any, buffers: int) -> None:
    planned, measured = _run(step, 1000 * _MB)
    assert measured == pytest.approx(buffers * _BYTES, abs=_SLACK)
    assert planned == pytest.approx(measured, abs=_SLACK)


def test_a_chain_runs_in_the_memory_of_one_buffer() -> None:
    budget = int(_BYTES + _SLACK)
    planned, measured = _run(_chain, budget)
    assert max(planned, measured) <= budget
