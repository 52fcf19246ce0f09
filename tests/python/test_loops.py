# SPDX-License-Identifier: Apache-2.0
"""Steps in loops: planned as they are where there is no loop around them."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from swapping import Net, Weights, equal

import sn_tf

_ROWS = 512
_SIDE = 256
_LAYERS = 6
_STEPS_AT_ONCE = 3

_X = np.random.default_rng(0).standard_normal((5 * _ROWS, 32), np.float32)
_Y = np.arange(len(_X)) % 10


def _model(steps_per_execution: int) -> keras.Model:
    keras.utils.set_random_seed(1)
    layers = [keras.Input((32,))]
    for _ in range(_LAYERS):
        layers.append(keras.layers.Dense(_SIDE, "tanh"))
        layers.append(keras.layers.Dropout(0.1, seed=3))
    model = keras.Sequential([*layers, keras.layers.Dense(10)])
    model.compile(
        keras.optimizers.Adam(),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        steps_per_execution=steps_per_execution,
        jit_compile=False,
    )
    return model


def _fit(
    steps_per_execution: int, **options: Any
) -> tuple[Weights, sn_tf.PlanReport, int]:
    """Weights, the training's plan and its peak over what was in use before."""
    model = _model(steps_per_execution)
    gc.collect()
    before = sn_tf.stats().in_use_bytes
    budget = options.pop("budget", 10**9)
    callback = sn_tf.MemoryBudget(before + budget, **options)
    # Five batches, the last of them partial: also the last execution is.
    model.fit(
        *(_X[:-100], _Y[:-100]),
        batch_size=_ROWS,
        epochs=3,
        verbose=0,
        callbacks=[callback],
    )
    plan = max(sn_tf.report(), key=lambda one: one.stock_peak_bytes)
    return model.get_weights(), plan, sn_tf.stats().peak_bytes - before


def test_several_steps_per_execution_are_planned_within_a_budget() -> None:
    reference, order, _ = _fit(_STEPS_AT_ONCE, policy="liveness")
    assert order.reason == ""
    room = 8 * 10**6
    weights, plan, peak = _fit(_STEPS_AT_ONCE, budget=room, tiers="host")
    assert plan.feasible
    assert plan.swapped_buffers + plan.recomputed_ops > 0
    assert peak <= room < order.stock_peak_bytes
    assert equal(weights, reference)


def test_how_many_steps_run_at_once_does_not_change_the_weights() -> None:
    one, _, _ = _fit(1, policy="liveness")
    three, _, _ = _fit(_STEPS_AT_ONCE, policy="liveness")
    assert equal(one, three)


@pytest.mark.parametrize("part", ["evaluate", "predict"])
def test_evaluation_and_prediction_in_loops_are_planned(part: str) -> None:
    model = _model(_STEPS_AT_ONCE)

    def run(**options: Any) -> Any:
        arguments = (_X, _Y) if part == "evaluate" else (_X,)
        callback = sn_tf.MemoryBudget("1GB", **options)
        return getattr(model, part)(
            *arguments, batch_size=_ROWS, verbose=0, callbacks=[callback]
        )

    expected = getattr(model, part)(
        *((_X, _Y) if part == "evaluate" else (_X,)),
        batch_size=_ROWS,
        verbose=0,
    )
    assert np.array_equal(run(), expected)
    assert any("multi_step" in plan.function for plan in sn_tf.report())
    assert all(plan.reason == "" for plan in sn_tf.report())


class _Loop:
    """A loop of the user's own over the steps of a `Net`."""

    def __init__(self) -> None:
        self.net = Net()
        self._run: Callable[[tf.Tensor], None] = tf.function(self._steps)

    def run(self, count: int) -> Weights:
        self._run(tf.constant(count))
        return self.net.weights()

    def _steps(self, count: tf.Tensor) -> None:
        for _ in tf.range(count):
            self.net._function(self.net._x)


def _run_loop(**options: Any) -> tuple[Weights, sn_tf.PlanReport, int]:
    loop = _Loop()
    gc.collect()
    before = sn_tf.stats().in_use_bytes
    budget = before + options.pop("budget", 10**9)
    sn_tf.reset_peak()
    with sn_tf.scope(budget, **options):
        for count in (1, 0, 3, 2):
            weights = loop.run(count)
        (plan,) = (one for one in sn_tf.report() if "steps" in one.function)
    return weights, plan, sn_tf.stats().peak_bytes - before


def test_a_loop_of_ones_own_is_planned_within_a_budget() -> None:
    reference, order, _ = _run_loop(policy="liveness")
    assert order.reason == ""
    need = order.stock_peak_bytes - order.resident_bytes
    weights, plan, peak = _run_loop(budget=int(0.7 * need), tiers="host")
    assert plan.feasible
    assert plan.swapped_buffers + plan.recomputed_ops > 0
    assert peak <= 0.7 * need
    assert equal(weights, reference)
