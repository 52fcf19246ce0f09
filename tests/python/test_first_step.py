# SPDX-License-Identifier: Apache-2.0
"""The first step, whose workspaces nobody knows: it may fail, not do harm."""

from __future__ import annotations

import pickle
import re
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import sn_tf

_BATCH = 16
_RANDOM = np.random.default_rng(0)
_X = _RANDOM.random((40, 64, 64, 1), dtype=np.float32)
_Y = np.zeros(len(_X), np.int32)


class _HalfPool(keras.layers.Layer):  # type: ignore[misc]
    """Its gradient needs more workspace than all that it reads and writes."""

    def build(self, input_shape: Any) -> None:
        self.scale = self.add_weight(shape=(64,), initializer="ones")

    def call(self, x: Any) -> Any:
        half = tf.cast(x * self.scale, tf.float16)
        pooled = tf.nn.max_pool2d(half, 2, 1, "SAME")
        return tf.reduce_mean(tf.cast(pooled, tf.float32), axis=[1, 2])


def _model() -> keras.Model:
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input(_X.shape[1:]),
            _HalfPool(),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        keras.optimizers.SGD(0.01, momentum=0.9),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    model.optimizer.build(model.trainable_variables)
    return model


def _values(model: keras.Model) -> list[Any]:
    variables = [*model.variables, *model.optimizer.variables]
    return [keras.ops.convert_to_numpy(variable) for variable in variables]


def _fit(model: keras.Model, beyond: float, samples: int = 32) -> None:
    """Trains inside a budget of `beyond` bytes more than is in use before.

    Models of earlier tests may be: Keras does not let go of them all.
    """
    budget = sn_tf.stats().in_use_bytes + int(beyond)
    sn_tf.reset_peak()
    model.fit(
        _X[:samples],
        _Y[:samples],
        batch_size=_BATCH,
        shuffle=False,
        verbose=0,
        callbacks=[sn_tf.MemoryBudget(budget)],
    )


@pytest.fixture(scope="module")
def needed() -> int:
    """The most that the training has in use where nothing limits it."""
    model = _model()
    before = sn_tf.stats().in_use_bytes
    _fit(model, 2e9)
    return sn_tf.stats().peak_bytes - before


# From a little too small to far too small; the size of the batch is known
# where all batches are whole.
@pytest.mark.parametrize("samples", [32, 40])
@pytest.mark.parametrize("share", [0.95, 0.8, 0.4])
def test_a_failed_first_step_changes_nothing(
    share: float, samples: int, needed: int
) -> None:
    model = _model()
    before = _values(model)
    with pytest.raises(sn_tf.InfeasibleBudgetError) as raised:
        _fit(model, share * needed, samples)
    for old, new in zip(before, _values(model), strict=True):
        np.testing.assert_array_equal(old, new)
    error = raised.value
    assert error.budget_bytes < error.min_budget_bytes
    assert not error.measured
    assert "at least" in str(error)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.measured) == (str(error), False)


def test_the_failed_step_tells_the_op_that_failed(needed: int) -> None:
    with pytest.raises(sn_tf.InfeasibleBudgetError) as raised:
        _fit(_model(), 0.95 * needed)
    assert "MaxPoolGrad" in raised.value.limiting_op
    (note,) = raised.value.__notes__
    assert note == sn_tf.last_oom()
    assert re.search(r"OOM when allocating .*MaxPoolGrad", note)
    smallest = f"({raised.value.min_budget_bytes} bytes)"
    assert f"{smallest}; no whole step was measured yet" in note


def test_the_next_budget_works(needed: int) -> None:
    model, free = _model(), _model()
    with pytest.raises(sn_tf.InfeasibleBudgetError) as raised:
        _fit(model, 0.95 * needed)
    missing = raised.value.min_budget_bytes - raised.value.budget_bytes
    _fit(model, 0.97 * needed + missing)
    _fit(free, 2e9)
    for ours, theirs in zip(_values(model), _values(free), strict=True):
        np.testing.assert_array_equal(ours, theirs)
