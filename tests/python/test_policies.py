# SPDX-License-Identifier: Apache-2.0
"""Policies by name, in trainings: what each moves, and the same weights."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
import tensorflow as tf
from swapping import Weights, equal

import sn_tf

_IMAGES = [8, 32, 32, 16]
_LAYERS = 6
_STEPS = 3


class _Convolutions:
    """Each layer keeps a convolution's input and a tensor that is none."""

    def __init__(self) -> None:
        self.images = tf.random.stateless_normal(_IMAGES, seed=[1, 0])
        self.filters = [
            tf.Variable(
                0.1 * tf.random.stateless_normal([3, 3, 16, 16], seed=[1, at])
            )
            for at in range(1, _LAYERS + 1)
        ]
        self.bias = tf.Variable(tf.ones([16]))
        self.step = tf.function(self._step)

    def train(self) -> Weights:
        for _ in range(_STEPS):
            self.step()
        return [one.numpy() for one in self.filters]

    def _step(self) -> None:
        with tf.GradientTape() as tape:
            hidden = self.images
            for one in self.filters:
                hidden = tf.nn.conv2d(hidden, one, 1, "SAME")
                # TensorFlow merges the sum into the convolution.
                hidden = tf.nn.bias_add(hidden, self.bias)
                hidden = tf.square(tf.tanh(hidden))
            loss = tf.nn.l2_loss(hidden)
        gradients = tape.gradient(loss, self.filters)
        for one, gradient in zip(self.filters, gradients, strict=True):
            one.assign_sub(gradient)


def _trained(
    policy: str, budget: Callable[[int], int]
) -> tuple[Weights, sn_tf.PlanReport]:
    """Weights and plan; `budget` is told what is in use before."""
    network = _Convolutions()
    gc.collect()
    before = sn_tf.stats().in_use_bytes
    with sn_tf.scope(budget(before), policy=policy, tiers="host"):
        weights = network.train()
        (plan,) = sn_tf.report()
    return weights, plan


@pytest.fixture(scope="module")
def reference() -> Weights:
    return _trained("liveness", lambda before: before + 10**9)[0]


def _kinds(plan: sn_tf.PlanReport, done: str) -> set[str]:
    """Types of the ops whose outputs are swapped, or recomputed."""
    return {
        action.buffer.split(":")[0].split("/")[-1].split("_")[0]
        for action in plan.actions
        if action.action == done
    }


def _swapped(plan: sn_tf.PlanReport) -> set[str]:
    assert not _kinds(plan, "recompute")
    return _kinds(plan, "swap")


@pytest.mark.parametrize(
    ("policy", "swapped"),
    [
        ("vdnn_all", {"Tanh", "Square"}),
        ("vdnn_conv", {"Square"}),
        ("vdnn_dyn", set()),
    ],
)
def test_vdnn_moves_its_kinds_whatever_the_budget(
    policy: str, swapped: set[str], reference: Weights
) -> None:
    weights, plan = _trained(policy, lambda before: before + 10**9)
    assert plan.feasible
    assert _swapped(plan) == swapped
    assert equal(weights, reference)


def test_vdnn_dyn_moves_more_where_it_must(reference: Weights) -> None:
    _, conv = _trained("vdnn_conv", lambda before: before + 10**9)
    _, nothing = _trained("liveness", lambda before: before + 10**9)

    def between(_: int) -> int:
        return (conv.planned_peak_bytes + nothing.planned_peak_bytes) // 2

    weights, plan = _trained("vdnn_dyn", between)
    assert plan.feasible
    assert _swapped(plan) == {"Square"}
    assert equal(weights, reference)


@pytest.mark.parametrize(
    ("policy", "swapped"),
    [
        ("speed_centric", set()),
        ("memory_centric", set()),
        ("cost_aware", set()),
        ("superneurons", {"BiasAdd"}),
    ],
)
def test_segments_are_recomputed_whatever_the_budget(
    policy: str, swapped: set[str], reference: Weights
) -> None:
    weights, plan = _trained(policy, lambda before: before + 10**9)
    assert plan.feasible
    assert _kinds(plan, "swap") == swapped
    assert _kinds(plan, "recompute") == {"Tanh", "Square"}
    assert plan.planned_peak_bytes < plan.stock_peak_bytes
    assert equal(weights, reference)
