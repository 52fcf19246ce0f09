# SPDX-License-Identifier: Apache-2.0
"""Functions of one's own: what a new generation of plans must not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import sn_tf

_MB = 1_000_000


def _image_filters(channels: int) -> tf.Variable:
    return tf.Variable(tf.ones([3, 3, 3, channels]) / 27)


def test_large_results_are_returned() -> None:
    filters = _image_filters(16)
    images = tf.random.stateless_normal([8, 32, 32, 3], [1, 2])

    @tf.function
    def features(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(tf.nn.conv2d(x, filters, 1, "SAME"))

    expected = features(images)
    with sn_tf.scope("1GB"):
        np.testing.assert_array_equal(features(images), expected)


def test_predict() -> None:
    model = keras.Sequential(
        [
            keras.layers.Input((32, 32, 3)),
            keras.layers.Conv2D(32, 3, activation="relu"),
        ]
    )
    x = np.random.default_rng(0).random((24, 32, 32, 3), np.float32)
    expected = model.predict(x, batch_size=8, verbose=0)
    budget = sn_tf.MemoryBudget("1GB")
    found = model.predict(x, batch_size=8, verbose=0, callbacks=[budget])
    np.testing.assert_array_equal(found, expected)


def _training_step() -> Callable[[], Any]:
    """A step whose first gradient TensorFlow folds into a constant of 8 MB."""
    filters = _image_filters(32)
    images = tf.ones([16, 64, 64, 3])

    @tf.function
    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            features = tf.nn.relu(tf.nn.conv2d(images, filters, 1, "SAME"))
            loss = tf.reduce_mean(tf.nn.relu(tf.sin(features) * features))
        filters.assign_sub(0.1 * tape.gradient(loss, filters))
        return loss

    return step


def test_constants_do_not_pile_up() -> None:
    step = _training_step()
    before = sn_tf.stats().in_use_bytes
    for budget in (60 * _MB, 50 * _MB, 45 * _MB):
        with sn_tf.scope(before + budget):
            for _ in range(4):
                step()
            assert sn_tf.report()[0].generation > 0
        assert sn_tf.stats().in_use_bytes - before < 1 * _MB


def test_a_constant_is_made_where_it_is_needed() -> None:
    padding = tf.function(lambda x: tf.fill([1000, 1000], 0.5) + x)
    with sn_tf.scope("1GB"):
        np.testing.assert_array_equal(
            padding(tf.constant(1.0)), np.full((1000, 1000), 1.5, np.float32)
        )


def _dropout(x: tf.Tensor) -> tf.Tensor:
    hidden = tf.nn.dropout(tf.sin(x), 0.5, seed=3)
    hidden = tf.nn.dropout(tf.cos(hidden) * hidden, 0.5, seed=4)
    return tf.reduce_sum(tf.cast(hidden != 0, tf.float32))


def _candidates(x: tf.Tensor) -> tf.Tensor:
    hidden = tf.sin(x)
    hidden = tf.cos(tf.cos(hidden) * hidden) + hidden
    drawn = tf.random.uniform_candidate_sampler(
        tf.zeros([1, 1], tf.int64), 1, 1, False, 1_000_000, seed=3
    ).sampled_candidates[0]
    return tf.cast(drawn, tf.float32) + 0 * tf.reduce_sum(hidden)


@pytest.mark.parametrize("policy", ["auto", "liveness"])
@pytest.mark.parametrize("draw", [_dropout, _candidates])
def test_seeded_noise_goes_on_where_it_was(
    draw: Callable[[tf.Tensor], tf.Tensor], policy: str
) -> None:
    x = tf.random.stateless_normal([16, 64, 64, 16], [1, 2])

    def noise() -> list[float]:
        tf.random.set_seed(1)
        step = tf.function(lambda: draw(x))
        return [float(step()) for _ in range(5)]

    expected = noise()
    assert len(set(expected)) > 1
    budget = sn_tf.stats().in_use_bytes + 18 * _MB
    with sn_tf.scope(budget, policy=policy):
        assert noise() == expected
        generations = [plan.generation for plan in sn_tf.report()]
    if policy == "auto":
        assert max(generations) > 0


def _kernels(width: int, count: int) -> list[tf.Variable]:
    return [tf.Variable(tf.ones([width, width]) / width) for _ in range(count)]


def _rows(count: int, width: int) -> tf.Tensor:
    return tf.random.stateless_normal([count * 1024, width], [1, 2])


def _descend(x: tf.Tensor, kernels: list[tf.Variable]) -> tf.Tensor:
    """A step of layers that need hardly any workspace, on any machine."""
    with tf.GradientTape() as tape:
        hidden = x
        for kernel in kernels:
            hidden = tf.nn.relu(tf.matmul(hidden, kernel))
        loss = tf.reduce_mean(hidden)
    for kernel, gradient in zip(
        kernels, tape.gradient(loss, kernels), strict=True
    ):
        kernel.assign_sub(gradient)
    return loss


def test_inputs_larger_than_planned_for_do_not_run() -> None:
    filters = _kernels(16, 4)

    @tf.function(input_signature=[tf.TensorSpec([None, 16])])
    def step(x: tf.Tensor) -> tf.Tensor:
        return _descend(x, filters)

    def images(count: int) -> tf.Tensor:
        return _rows(count, 16)

    # Keras keeps the models that earlier tests trained.
    budget = sn_tf.stats().in_use_bytes + 12 * _MB
    with sn_tf.scope(budget):
        sn_tf.reset_peak()
        for _ in range(2):
            step(images(8))
        weights = [kernel.numpy() for kernel in filters]
        with pytest.raises(
            tf.errors.ResourceExhaustedError, match="larger than those of any"
        ):
            step(images(32))
        for kernel, before in zip(filters, weights, strict=True):
            np.testing.assert_array_equal(kernel, before)
        for _ in range(2):
            step(images(32))
        assert sn_tf.stats().peak_bytes <= budget
    assert any(plan.actions for plan in sn_tf.report())


def test_inputs_that_no_plan_has_room_for_are_refused_each_time() -> None:
    filters = _kernels(16, 4)

    @tf.function(input_signature=[tf.TensorSpec([None, 16])])
    def step(x: tf.Tensor) -> tf.Tensor:
        return _descend(x, filters)

    few, many = _rows(8, 16), _rows(160, 16)
    with sn_tf.scope(sn_tf.stats().in_use_bytes + 12 * _MB):
        for _ in range(2):
            step(few)
        for _ in range(2):
            weights = [kernel.numpy() for kernel in filters]
            for _ in range(2):
                with pytest.raises(
                    tf.errors.ResourceExhaustedError,
                    match="infeasible budget.*No weight was changed",
                ):
                    step(many)
            for kernel, before in zip(filters, weights, strict=True):
                np.testing.assert_array_equal(kernel, before)
            step(few)


def test_slices_hold_what_they_are_slices_of() -> None:
    keras.utils.set_random_seed(1)
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Input((20, 64)),
            layers.Dense(512, activation="relu"),
            layers.LSTM(64, return_sequences=True, unroll=True),
            layers.Dense(512, activation="relu"),
            layers.LSTM(32, unroll=True),
            layers.Dense(10),
        ]
    )
    model.compile("adam", "mse")
    rng = np.random.default_rng(0)
    x = rng.random((64, 20, 64), np.float32)
    y = rng.random((64, 10), np.float32)
    sn_tf.reset_peak()
    budget = sn_tf.stats().in_use_bytes + 12 * _MB
    model.fit(x, y, 32, 3, verbose=0, callbacks=[sn_tf.MemoryBudget(budget)])
    assert sn_tf.stats().peak_bytes <= budget
    assert any(plan.actions for plan in sn_tf.report())


def test_memory_taken_meanwhile_fails_a_step_and_not_the_process() -> None:
    filters = _kernels(32, 3)
    images = _rows(16, 32)
    step = tf.function(lambda: _descend(images, filters))

    budget = sn_tf.stats().in_use_bytes + 12 * _MB
    with sn_tf.scope(budget):
        for _ in range(3):
            step()
        weights = [kernel.numpy() for kernel in filters]
        hog = tf.zeros([9 * _MB // 4])
        with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM"):
            step()
        del hog
    # The forward pass was refused memory, so nothing was written.
    for kernel, before in zip(filters, weights, strict=True):
        np.testing.assert_array_equal(kernel, before)


def test_a_verdict_does_not_outlive_what_it_was_made_of() -> None:
    filters = _kernels(32, 3)
    images = _rows(16, 32)
    step = tf.function(lambda: _descend(images, filters))

    with sn_tf.scope(sn_tf.stats().in_use_bytes + 12 * _MB):
        hog = tf.zeros([9 * _MB // 4])
        with pytest.raises(
            (tf.errors.ResourceExhaustedError, sn_tf.InfeasibleBudgetError)
        ):
            step()
        del hog
        step()
