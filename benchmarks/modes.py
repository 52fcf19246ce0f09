# SPDX-License-Identifier: Apache-2.0
"""Puts one of the modes of a measurement in force.

stock          TensorFlow untouched; sn_tf's allocator only measures.
stock-limited  The same, with the budget as the allocator's hard limit.
order          The plan's route, nothing moved, no limit.
sn             Planned into the budget.
"""

import contextlib

import sn_tf
from sn_tf import _library
from sn_tf.budget import parse_budget

ARENA = "CPU:0"


@contextlib.contextmanager
def limited(budget):
    """Limits the arena to `budget` without planning anything."""
    library = _library.library()
    library.set_budget(ARENA, parse_budget(budget))
    try:
        yield
    finally:
        library.set_budget(ARENA, 0)


def _planning(options):
    """Arguments of sn_tf's scope and callback in the planned modes."""
    if options.mode == "order":
        # All of the memory there is: the largest budget without a warning.
        return {"budget": "100%", "policy": "liveness"}
    return {
        "budget": options.budget,
        "policy": options.policy,
        "tiers": options.tiers,
    }


def context(options):
    """Context manager: everything inside is trained in `options.mode`."""
    if options.mode == "stock":
        return contextlib.nullcontext()
    if options.mode == "stock-limited":
        return limited(options.budget)
    return sn_tf.scope(**_planning(options))


def callbacks(options):
    """Keras callbacks that train `fit` in `options.mode`."""
    if options.mode in ("stock", "stock-limited"):
        return []
    return [sn_tf.MemoryBudget(**_planning(options))]


def fit_context(options):
    """What `callbacks` leaves to be done around `fit`."""
    if options.mode == "stock-limited":
        return limited(options.budget)
    return contextlib.nullcontext()
