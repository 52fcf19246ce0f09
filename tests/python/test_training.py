# SPDX-License-Identifier: Apache-2.0
"""Whole trainings inside a budget: same bits as without, and never above it.

The reference is policy "liveness" without a tight budget: the same order of
ops, nothing moved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import sn_tf
from sn_tf import _library
from sn_tf.options import default_device

_BATCH = 2048
_WIDTH = 256
# Small beside the activations: the input pipeline fills up as it likes.
_FEATURES = 16
_rng = np.random.default_rng(5)
_X = _rng.normal(scale=0.1, size=(5120, _FEATURES)).astype(np.float32)
_Y = _rng.integers(0, 10, size=5120)


_Train = Callable[[], list[np.ndarray[Any, Any]]]


def _model() -> keras.Model:
    keras.utils.set_random_seed(7)
    layers: list[Any] = [keras.Input((_FEATURES,))]
    for _ in range(8):
        layers += [
            keras.layers.Dense(_WIDTH, use_bias=False),
            keras.layers.BatchNormalization(),
            keras.layers.Activation("tanh"),
        ]
    layers.append(keras.layers.Dense(10))
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
    """5120 samples at batch 2048: the last batch is partial."""
    model = _model()
    history = model.fit(
        _X,
        _Y,
        batch_size=_BATCH,
        epochs=2,
        shuffle=True,
        validation_data=(_X[:3000], _Y[:3000]),
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


@functools.lru_cache
def _stock_need_bytes(train: _Train) -> int:
    """What a stock training takes beyond what was in use before it."""
    before = sn_tf.stats().in_use_bytes
    sn_tf.reset_peak()
    train()
    return sn_tf.stats().peak_bytes - before


def _tight_budget(train: _Train, share: float) -> int:
    """A budget that leaves a training that `share` of what stock needs."""
    need = _stock_need_bytes(train)
    # TensorFlow keeps the variables of earlier tests' models.
    return sn_tf.stats().in_use_bytes + int(share * need)


@functools.lru_cache
def _reference(train: _Train) -> list[np.ndarray[Any, Any]]:
    with sn_tf.scope("8GB", policy="liveness"):
        return train()


def _main_plan() -> sn_tf.PlanReport:
    return max(sn_tf.report(), key=lambda plan: plan.stock_peak_bytes)


@pytest.mark.parametrize("tiers", ["auto", "host", "none"])
def test_train_on_batch_within_a_scope(tiers: str) -> None:
    reference = _reference(_train_on_batch)
    budget = _tight_budget(_train_on_batch, 0.6)
    sn_tf.reset_peak()
    with sn_tf.scope(budget, tiers=tiers):
        ours = _train_on_batch()
    assert sn_tf.stats().peak_bytes <= budget
    _assert_same_bits(ours, reference)
    plan = _main_plan()
    assert plan.feasible
    assert plan.planned_peak_bytes <= budget < plan.stock_peak_bytes
    assert plan.actions
    if tiers == "none":
        assert {action.action for action in plan.actions} == {"recompute"}


def test_stock_does_not_fit_there() -> None:
    budget = _tight_budget(_train_on_batch, 0.6)
    library = _library.library()
    library.set_budget(default_device(), budget)
    try:
        with pytest.raises(tf.errors.ResourceExhaustedError):
            _train_on_batch()
    finally:
        library.set_budget(default_device(), 0)


def test_fit_with_a_partial_batch_and_validation() -> None:
    reference = _reference(_fit)
    budget = _tight_budget(_fit, 0.7)
    sn_tf.reset_peak()
    ours = _fit(sn_tf.MemoryBudget(budget, batch_size=_BATCH))
    assert sn_tf.stats().peak_bytes <= budget
    _assert_same_bits(ours, reference)
    assert not any(plan.is_infeasible for plan in sn_tf.report())
    assert _main_plan().actions


def test_memory_returns_to_the_same_after_every_step() -> None:
    budget = _tight_budget(_train_on_batch, 0.6)
    model = _model()
    in_use, host = [], []
    with sn_tf.scope(budget):
        for _ in range(20):
            model.train_on_batch(_X[:_BATCH], _Y[:_BATCH])
            in_use.append(sn_tf.stats().in_use_bytes)
            host.append(sn_tf.stats().host_tier_in_use_bytes)
    assert sn_tf.stats().swapped_out_bytes > 0
    # The first steps make variables and constants, and the plans that follow
    # the first ones constants of their own.
    assert len(set(in_use[8:])) == 1
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
    reference = _reference(_loop)
    budget = _tight_budget(_loop, 0.6)
    sn_tf.reset_peak()
    with sn_tf.scope(budget):
        ours = _loop()
    assert sn_tf.stats().peak_bytes <= budget
    _assert_same_bits(ours, reference)


def _v1_training(config: tf.compat.v1.ConfigProto) -> list[Any]:
    v1 = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default(), tf.device(f"/device:{default_device()}"):
        x = v1.placeholder(tf.float32, [None, _FEATURES])
        hidden = x
        rows = _FEATURES
        rng = np.random.default_rng(1)
        for index in range(8):
            kernel = v1.get_variable(
                f"kernel{index}",
                initializer=tf.constant(
                    rng.normal(scale=0.1, size=(rows, _WIDTH)), tf.float32
                ),
            )
            hidden = tf.tanh(tf.matmul(hidden, kernel))
            rows = _WIDTH
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
    before = sn_tf.stats().in_use_bytes
    _v1_training(tf.compat.v1.ConfigProto())
    need = sn_tf.stats().peak_bytes - before
    options = {"batch_size": _BATCH}
    try:
        reference = _v1_training(
            sn_tf.session_config("8GB", policy="liveness", **options)
        )
        sn_tf.disable()
        budget = sn_tf.stats().in_use_bytes + int(0.8 * need)
        ours = _v1_training(sn_tf.session_config(budget, **options))
        assert sn_tf.stats().peak_bytes <= budget
    finally:
        sn_tf.disable()
    _assert_same_bits(ours, reference)
    assert _main_plan().actions


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
    # The budget that the error names does, with room for what the input
    # pipeline holds by now.
    model.fit(
        _X,
        _Y,
        batch_size=_BATCH,
        callbacks=[
            sn_tf.MemoryBudget(
                int(1.1 * error.value.min_budget_bytes), batch_size=_BATCH
            )
        ],
        verbose=0,
    )
