# SPDX-License-Identifier: Apache-2.0
"""Puts one of the modes of a measurement in force.

stock          TensorFlow untouched; sn_tf's allocator only measures.
stock-limited  The same, with the budget as the allocator's hard limit.
order          The plan's route, nothing moved, no limit.
sn             Planned into the budget.
"""

import contextlib

import keras
import tensorflow as tf

import sn_tf
from benchmarks import devices
from sn_tf import _library


@contextlib.contextmanager
def limited(options):
    """Limits the device's arena to the budget without planning anything."""
    library = _library.library()
    device = devices.name_of(options)
    library.set_budget(device, devices.budget_bytes(options))
    try:
        yield
    finally:
        library.set_budget(device, 0)


@contextlib.contextmanager
def _refusals_raise(device):
    """Raises where an op inside was refused memory.

    TensorFlow does so itself, but for its oneDNN kernels, which go on without
    the memory and end the process.

    Raises:
        tf.errors.ResourceExhaustedError: With what `sn_tf.last_oom` tells.
    """
    library = _library.library()
    library.open_sink(device)
    try:
        yield
    finally:
        refusal = library.close_sink(device)
    if refusal is not None:
        raise tf.errors.ResourceExhaustedError(
            None, None, sn_tf.last_oom(device)
        )


def step_context(options):
    """Context manager for each single step."""
    if options.mode == "stock-limited":
        return _refusals_raise(devices.name_of(options))
    return contextlib.nullcontext()


class _RefusalsRaise(keras.callbacks.Callback):
    """`_refusals_raise` around each step of `fit`."""

    def __init__(self, device):
        super().__init__()
        self._device = device

    def on_train_batch_begin(self, batch, logs=None):
        self._context = _refusals_raise(self._device)
        self._context.__enter__()

    def on_train_batch_end(self, batch, logs=None):
        self._context.__exit__(None, None, None)


def _planning(options):
    """Arguments of sn_tf's scope and callback in the planned modes."""
    if options.mode == "order":
        # All of the memory there is: the largest budget without a warning.
        return {
            "budget": "100%",
            "policy": "liveness",
            "device": devices.name_of(options),
        }
    return {
        "device": devices.name_of(options),
        "budget": options.budget,
        "policy": options.policy,
        "tiers": options.tiers,
        "swap_dir": options.swap_dir,
        "cache": options.cache,
    }


def context(options):
    """Context manager: everything inside is trained in `options.mode`."""
    if options.mode == "stock":
        return contextlib.nullcontext()
    if options.mode == "stock-limited":
        return limited(options)
    return sn_tf.scope(**_planning(options))


def callbacks(options):
    """Keras callbacks that train `fit` in `options.mode`."""
    if options.mode == "stock":
        return []
    if options.mode == "stock-limited":
        return [_RefusalsRaise(devices.name_of(options))]
    return [sn_tf.MemoryBudget(**_planning(options))]


def fit_context(options):
    """What `callbacks` leaves to be done around `fit`."""
    if options.mode == "stock-limited":
        return limited(options)
    return contextlib.nullcontext()
