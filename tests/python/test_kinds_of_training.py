# SPDX-License-Identifier: Apache-2.0
"""Kinds of training, each in a budget in which it has to move something.

The reference is policy "liveness": the same order of ops, nothing moved.
"""

from __future__ import annotations

import gc

import pytest
from swapping import Weights, equal

import sn_tf
from benchmarks import kind_trainings

_ROWS = 2048
# One is traced, another runs the new plan; accumulated gradients are applied
# after three, on a branch that the traced step does not take.
_STEPS = 6
_SHARE = 0.6


def _train(
    kind: str, room: int | None = None
) -> tuple[Weights, sn_tf.PlanReport, int]:
    """Weights, plan, and the peak over what was in use before.

    `room`: that the budget leaves; None: it is none, and nothing moves.
    """
    training = kind_trainings.make(kind, _ROWS)
    gc.collect()
    before = sn_tf.stats().in_use_bytes
    budget = before + (5 * 10**9 if room is None else room)
    sn_tf.reset_peak()
    with sn_tf.scope(budget, policy="liveness" if room is None else "auto"):
        for _ in range(_STEPS):
            training.step()
        plan = max(sn_tf.report(), key=lambda one: one.stock_peak_bytes)
    peak = sn_tf.stats().peak_bytes - before
    weights = [variable.numpy() for variable in training.variables]
    return weights, plan, peak


@pytest.mark.parametrize("kind", kind_trainings.KINDS)
def test_it_keeps_its_budget_and_its_bits(kind: str) -> None:
    reference, order, need = _train(kind)
    assert order.reason == ""
    room = int(_SHARE * need)
    weights, plan, peak = _train(kind, room)
    assert plan.reason == ""
    assert plan.feasible
    assert plan.actions
    assert peak <= room
    assert equal(weights, reference)
