# SPDX-License-Identifier: Apache-2.0
"""Steps of `fit` that have no room and are repeated with another plan."""

from __future__ import annotations

import gc
import logging
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import sn_tf

_MB = 1_000_000
_SIZES = (16, 16, 48, 16, 64, 48)


def _batches() -> tf.data.Dataset:
    def images(size: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        seed = tf.stack([size, size])
        x = tf.random.stateless_normal([8, size, size, 3], seed)
        return x, tf.random.stateless_normal([8, 4], seed)

    return tf.data.Dataset.from_tensor_slices(list(_SIZES)).map(images)


def _train(budget: int, **options: Any) -> list[Any]:
    """The weights and losses of a training in which images grow."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((None, None, 3))])
    for _ in range(6):
        model.add(keras.layers.Conv2D(8, 3, padding="same", activation="relu"))
    model.add(keras.layers.GlobalAveragePooling2D())
    model.add(keras.layers.Dense(4))
    model.compile("adam", "mse")
    gc.collect()
    used = sn_tf.stats().in_use_bytes
    sn_tf.reset_peak()
    losses = model.fit(
        _batches(),
        epochs=2,
        verbose=0,
        callbacks=[sn_tf.MemoryBudget(used + budget, **options)],
    ).history["loss"]
    assert sn_tf.stats().peak_bytes <= used + budget
    return [*model.get_weights(), *losses]


@pytest.mark.parametrize("tiers", ["host", "none"])
def test_images_may_grow_in_fit(
    tiers: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "sn_tf"):
        reference = _train(1000 * _MB, policy="liveness")
        assert "repeated" not in caplog.text
        values = _train(6 * _MB, tiers=tiers)
    assert "repeated with another plan" in caplog.text
    for value, expected in zip(values, reference, strict=True):
        np.testing.assert_array_equal(value, expected)


def test_repeating_ends_where_no_plan_fits() -> None:
    with pytest.raises(sn_tf.InfeasibleBudgetError):
        _train(2 * _MB)
