# SPDX-License-Identifier: Apache-2.0
"""Batches that wait in an input pipeline are in the arena too."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import numpy as np
import tensorflow as tf
from swapping import Weights, equal

import sn_tf

_ROWS = 1024
_SIDE = 256
_LAYERS = 8
_BATCH_BYTES = 4 * _ROWS * _SIDE
_WAITING = 6  # Batches, once the pipeline is full.
_STEPS = 4


def _slow_batches() -> Iterator[np.ndarray]:
    for seed in range(2 * (_STEPS + _WAITING)):
        time.sleep(0.02)
        random = np.random.default_rng(seed)
        yield random.standard_normal((_ROWS, _SIDE)).astype(np.float32)


def _train(budget: int, **options: str) -> tuple[Weights, int]:
    """Weights, and bytes that a step moves; the pipeline fills up meanwhile."""
    variables = [
        tf.Variable(
            _SIDE**-0.5
            * tf.random.stateless_normal([_SIDE, _SIDE], seed=[1, layer])
        )
        for layer in range(_LAYERS)
    ]
    batches = tf.data.Dataset.from_generator(
        _slow_batches,
        output_signature=tf.TensorSpec([_ROWS, _SIDE], tf.float32),
    )

    @tf.function
    def step(iterator: tf.data.Iterator) -> None:
        hidden = next(iterator)
        with tf.GradientTape() as tape:
            for variable in variables:
                hidden = tf.tanh(tf.matmul(hidden, variable))
            loss = tf.reduce_mean(tf.square(hidden))
        gradients = tape.gradient(loss, variables)
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.assign_sub(gradient)

    with sn_tf.scope(budget, **options):
        iterator = iter(batches.prefetch(_WAITING))
        for _ in range(_STEPS):
            step(iterator)
            time.sleep(0.03 * _WAITING)
        (plan,) = (one for one in sn_tf.report() if "step" in one.function)
    return [variable.numpy() for variable in variables], plan.swapped_bytes


def test_a_pipeline_that_fills_up_is_planned_for() -> None:
    gc.collect()
    before = sn_tf.stats().in_use_bytes
    reference, _ = _train(before + 10**9, policy="liveness")
    gc.collect()
    before = sn_tf.stats().in_use_bytes
    # Without the batches that wait, there would be room for nearly all.
    room = (_WAITING + _LAYERS + 3) * _BATCH_BYTES
    weights, swapped = _train(before + room, policy="swap", tiers="host")
    assert swapped > 0
    assert equal(weights, reference)
