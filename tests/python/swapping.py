# SPDX-License-Identifier: Apache-2.0
"""A small training that swaps, for tests of what may happen meanwhile.

Programs that run in processes of their own begin with START.
"""

from __future__ import annotations

import functools
import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

import sn_tf
from sn_tf import _library

# Of activations and weights.
SIDE = 256
DEPTH = 8
# Of each activation; the weights have as many.
BUFFER_BYTES = 4 * SIDE**2
# That tests compare.
MOST_STEPS = 6

START = """
import gc, json, multiprocessing, os, signal, sys, threading, time, warnings
import numpy as np
import sn_tf
import tensorflow as tf
from tests.python.swapping import *
"""

ops: Any = tf.load_op_library(str(_library._LIBRARY_PATH))

Weights = Sequence[np.ndarray[Any, Any]]


class Net:
    """Layers of one size, trained on one batch by gradient descent."""

    def __init__(self, seed: int = 1) -> None:
        # Of tensors: TensorFlow takes numpy's memory as it is, now and then.
        def normal(index: int, scale: float) -> tf.Tensor:
            return scale * tf.random.stateless_normal(
                [SIDE, SIDE], seed=[seed, index]
            )

        self.variables = [
            tf.Variable(normal(index, SIDE**-0.5)) for index in range(DEPTH)
        ]
        self.factor = tf.Variable(1.0)  # NaN: steps fail.
        self._x = normal(DEPTH, 1.0)
        self._function = tf.function(self._step)

    def step(self) -> float:
        """Trains one step, which fails where `factor` is NaN."""
        return float(self._function(self._x))

    def weights(self) -> Weights:
        return [variable.numpy() for variable in self.variables]

    def set_weights(self, weights: Weights) -> None:
        for variable, value in zip(self.variables, weights, strict=True):
            variable.assign(value)

    def _step(self, x: tf.Tensor) -> tf.Tensor:
        hidden = x
        with tf.GradientTape() as tape:
            for layer, variable in enumerate(self.variables):
                hidden = tf.tanh(tf.matmul(hidden, variable))
                if layer == DEPTH - 1:
                    hidden = self._check(hidden)
            loss = tf.reduce_mean(tf.square(hidden))
        gradients = tape.gradient(loss, self.variables)
        for variable, gradient in zip(self.variables, gradients, strict=True):
            variable.assign_sub(gradient)
        return loss

    def _check(self, hidden: tf.Tensor) -> tf.Tensor:
        """Fails the step in its middle, when it has begun to swap."""
        check = tf.debugging.check_numerics(
            hidden[0, 0] * self.factor, "made to fail"
        )
        with tf.control_dependencies([check]):
            return tf.identity(hidden)


def weights_after(steps: int, seed: int = 1) -> Weights:
    """Those of a training in which nothing moves; not within a scope."""
    return _trajectory(seed)[steps]


@functools.cache
def _trajectory(seed: int) -> Sequence[Weights]:
    net = Net(seed)
    weights = [net.weights()]
    with sn_tf.scope("8GB", policy="liveness"):
        for _ in range(MOST_STEPS):
            net.step()
            weights.append(net.weights())
    del net
    gc.collect()
    return weights


@functools.cache
def need_bytes() -> int:
    """What a step takes beside the weights where nothing moves."""
    net = Net()
    gc.collect()
    before = sn_tf.stats().in_use_bytes
    # TensorFlow's own order of ops, and so its need, varies.
    with sn_tf.scope("8GB", policy="liveness"):
        net.step()
        sn_tf.reset_peak()
        net.step()
    return sn_tf.stats().peak_bytes - before


def budget(share: float = 0.7) -> int:
    """Leaves steps of nets that there are that `share` of what they need."""
    need = need_bytes()
    gc.collect()
    return sn_tf.stats().in_use_bytes + int(share * need)


def equal(ours: Weights, reference: Weights) -> bool:
    """Bit for bit."""
    return all(
        mine.tobytes() == wanted.tobytes()
        for mine, wanted in zip(ours, reference, strict=True)
    )


def swapped() -> int:
    """Bytes that went out so far."""
    return sum(tier.out_bytes for tier in sn_tf.stats().tiers)


def stored() -> int:
    """Bytes that are out, or on their way."""
    return sum(tier.taken_bytes for tier in sn_tf.stats().tiers)


def move_out(tensor: tf.Tensor, **where: str) -> tf.Tensor:
    """A handle of what has left; to be called within a function.

    Elsewhere TensorFlow drops the wait, an op that returns nothing.
    """
    handle = ops.sn_swap_out(tensor=tensor, **where)
    with tf.control_dependencies([ops.sn_swap_wait(handle=handle)]):
        return tf.identity(handle)


def there_and_back(tensor: tf.Tensor, **where: str) -> tf.Tensor:
    """`tensor`, when it has been away; to be called within a function."""
    handle = move_out(tensor, **where)
    return ops.sn_swap_in(handle=handle, T=tensor.dtype)


def wait_until(condition: Callable[[], bool]) -> None:
    """For what copies let go that were under way when their step failed."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)
