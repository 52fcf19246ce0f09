# SPDX-License-Identifier: Apache-2.0
"""Whole trainings inside a budget: same bits as without, and never above it.

The reference is policy "liveness" without a tight budget: the same order of
ops, nothing moved.
"""

from __future__ import annotations

import functools
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import sn_tf

_BATCH = 16
_IMAGE = 32
_rng = np.random.default_rng(5)
_X = _rng.normal(size=(40, _IMAGE, _IMAGE, 3)).astype(np.float32)
_Y = _rng.integers(0, 10, size=40)


def _model() -> keras.Model:
    keras.utils.set_random_seed(7)
    layers: list[Any] = [keras.Input((_IMAGE, _IMAGE, 3))]
    for _ in range(6):
        layers += [
            keras.layers.Conv2D(16, 3, padding="same", use_bias=False),
            keras.layers.BatchNormalization(),
            keras.layers.ReLU(),
        ]
    layers += [keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(10)]
    model = keras.Sequential(layers)
    model.compile(
        keras.optimizers.SGD(0.05, momentum=0.9),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


def _train_on_batch(steps: int = 3) -> list[np.ndarray[Any, Any]]:
    model = _model()
    losses = [
        model.train_on_batch(_X[:_BATCH], _Y[:_BATCH]) for _ in range(steps)
    ]
    return [np.asarray(losses), *model.get_weights()]


def _fit(*callbacks: Any) -> list[np.ndarray[Any, Any]]:
    """40 samples at batch 16: the last batch is partial."""
    model = _model()
    history = model.fit(
        _X,
        _Y,
        batch_size=_BATCH,
        epochs=2,
        shuffle=True,
        validation_data=(_X[:20], _Y[:20]),
        callbacks=list(callbacks),
        verbose=0,
    ).history
    losses = history["loss"] + history["val_loss"]
    return [np.asarray(losses), *model.get_weights()]


def _assert_same_bits(
    ours: list[np.ndarray[Any, Any]], reference: list[np.ndarray[Any, Any]]
) -> None:
    assert len(ours) == len(reference)
    for mine, wanted in zip(ours, reference, strict=True):
        np.testing.assert_array_equal(mine, wanted)


@functools.lru_cache(maxsize=1)
def _stock_peak_bytes() -> int:
    sn_tf.reset_peak()
    _train_on_batch(1)
    return sn_tf.stats().peak_bytes


@functools.lru_cache(maxsize=1)
def _reference() -> list[np.ndarray[Any, Any]]:
    with sn_tf.scope("8GB", policy="liveness"):
        return _train_on_batch()


@pytest.mark.parametrize("tiers", ["auto", "host", "none"])
def test_train_on_batch_within_a_scope(tiers: str) -> None:
    budget = int(0.6 * _stock_peak_bytes())
    sn_tf.reset_peak()
    with sn_tf.scope(budget, tiers=tiers):
        ours = _train_on_batch()
    assert sn_tf.stats().peak_bytes <= budget
    _assert_same_bits(ours, _reference())
    plan = max(sn_tf.report(), key=lambda plan: plan.stock_peak_bytes)
    assert plan.feasible
    assert plan.planned_peak_bytes <= budget < plan.stock_peak_bytes
    assert plan.actions
    if tiers == "none":
        assert {action.action for action in plan.actions} == {"recompute"}


def test_stock_does_not_fit_there() -> None:
    budget = int(0.6 * _stock_peak_bytes())
    library = sn_tf._library.library()
    library.set_budget("CPU:0", budget)
    try:
        with pytest.raises(tf.errors.ResourceExhaustedError):
            _train_on_batch(1)
    finally:
        library.set_budget("CPU:0", 0)


def test_fit_with_a_partial_batch_and_validation() -> None:
    budget = int(0.6 * _stock_peak_bytes())
    reference = _fit(sn_tf.MemoryBudget("8GB", policy="liveness"))
    sn_tf.reset_peak()
    ours = _fit(sn_tf.MemoryBudget(budget))
    assert sn_tf.stats().peak_bytes <= budget
    _assert_same_bits(ours, reference)
    assert all(plan.feasible for plan in sn_tf.report())


def test_fit_with_a_batch_size_is_planned_from_the_first_step() -> None:
    budget = int(0.6 * _stock_peak_bytes())
    reference = _fit(sn_tf.MemoryBudget("8GB", policy="liveness"))
    ours = _fit(sn_tf.MemoryBudget(budget, batch_size=_BATCH))
    _assert_same_bits(ours, reference)


def test_memory_returns_to_the_same_after_every_step() -> None:
    budget = int(0.6 * _stock_peak_bytes())
    model = _model()
    in_use, host = [], []
    with sn_tf.scope(budget):
        for _ in range(20):
            model.train_on_batch(_X[:_BATCH], _Y[:_BATCH])
            in_use.append(sn_tf.stats().in_use_bytes)
            host.append(sn_tf.stats().host_tier_in_use_bytes)
    assert sn_tf.stats().swapped_out_bytes > 0
    # The first steps make variables and constants.
    assert len(set(in_use[5:])) == 1
    assert set(host) == {0}


def _loop() -> list[np.ndarray[Any, Any]]:
    model = _model()
    variables = model.trainable_variables
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = tape.gradient(loss, variables)
        model.optimizer.apply(gradients, variables)
        return loss

    train_step = tf.function(step)
    model.optimizer.build(variables)
    x, y = tf.constant(_X[:_BATCH]), tf.constant(_Y[:_BATCH])
    losses = [train_step(x, y).numpy() for _ in range(3)]
    return [np.asarray(losses), *model.get_weights()]


def test_a_loop_of_ones_own() -> None:
    budget = int(0.6 * _stock_peak_bytes())
    with sn_tf.scope("8GB", policy="liveness"):
        reference = _loop()
    sn_tf.reset_peak()
    with sn_tf.scope(budget):
        ours = _loop()
    assert sn_tf.stats().peak_bytes <= budget
    _assert_same_bits(ours, reference)


def _v1_training(config: tf.compat.v1.ConfigProto) -> list[Any]:
    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default():
        x = v1.placeholder(tf.float32, [None, _IMAGE, _IMAGE, 3])
        hidden = x
        shape = [3, 3, 3, 16]
        rng = np.random.default_rng(1)
        for index in range(6):
            kernel = v1.get_variable(
                f"kernel{index}",
                initializer=tf.constant(
                    rng.normal(scale=0.1, size=shape), tf.float32
                ),
            )
            hidden = tf.nn.relu(tf.nn.conv2d(hidden, kernel, 1, "SAME"))
            shape = [3, 3, 16, 16]
        loss = tf.reduce_mean(tf.square(hidden))
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        with v1.Session(config=config, graph=graph) as session:
            session.run(v1.global_variables_initializer())
            sn_tf.reset_peak()
            losses = [
                session.run([loss, train], {x: _X[:_BATCH]})[0]
                for _ in range(3)
            ]
            return [losses, *session.run(v1.trainable_variables())]


def test_a_v1_session() -> None:
    _v1_training(tf.compat.v1.ConfigProto())
    budget = int(0.7 * sn_tf.stats().peak_bytes)
    try:
        config = sn_tf.session_config(
            "8GB", policy="liveness", batch_size=_BATCH
        )
        reference = _v1_training(config)
        sn_tf.disable()
        ours = _v1_training(sn_tf.session_config(budget, batch_size=_BATCH))
        assert sn_tf.stats().peak_bytes <= budget
    finally:
        sn_tf.disable()
    _assert_same_bits(ours, reference)


def test_an_infeasible_budget_leaves_the_weights_alone() -> None:
    model = _model()
    model.train_on_batch(_X[:_BATCH], _Y[:_BATCH])
    before = model.get_weights()
    budget = sn_tf.stats().in_use_bytes + 500_000
    with pytest.raises(sn_tf.InfeasibleBudgetError) as error:
        model.fit(
            _X,
            _Y,
            batch_size=_BATCH,
            callbacks=[sn_tf.MemoryBudget(budget, batch_size=_BATCH)],
            verbose=0,
        )
    _assert_same_bits(model.get_weights(), before)
    assert error.value.budget_bytes == budget
    assert error.value.min_budget_bytes > budget
    assert error.value.limiting_op
    assert sn_tf.stats().budget_bytes == 0
    # The budget that the error names does.
    model.fit(
        _X,
        _Y,
        batch_size=_BATCH,
        callbacks=[
            sn_tf.MemoryBudget(error.value.min_budget_bytes, batch_size=_BATCH)
        ],
        verbose=0,
    )
