# SPDX-License-Identifier: Apache-2.0
"""Variables that are out of a device's memory while nothing uses them.

Plans move optimizer state out after its update and in before it (the pass's
`plan_state.cc`). Here is what happens to it before the first step and after the
last one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from sn_tf import _library
from sn_tf.options import Options


@functools.cache
def _ops() -> Any:
    return tf.load_op_library(str(_library._LIBRARY_PATH))


def addressable_tiers(options: Options) -> str:
    """Those of `options.tiers` on which variables can lie; `""`: none.

    What is compressed is no memory, and the ops of accelerators reach pinned
    host memory only.
    """
    is_cpu = options.device.startswith("CPU")
    reached = ("host", "file") if is_cpu else ("host",)
    return ",".join(
        tier
        for tier in options.tiers.replace(" ", "").split(",")
        if tier.partition(":")[0] in reached
    )


def move_out(variables: Iterable[Any], options: Options) -> None:
    """Moves variables out until what is in use is within the budget.

    The largest go first. They may be read and assigned as ever. Where that is
    not enough, or `options` have no tier for it, whoever sets the budget tells.

    Args:
        variables: Of TensorFlow or of Keras.
        options: Whose budget, device and tiers count.
    """
    tiers = addressable_tiers(options)
    if not tiers or options.policy not in ("auto", "swap"):
        return
    library = _library.library()

    def missing() -> bool:
        in_use = int(library.stats(options.device)["in_use_bytes"])
        return in_use > options.budget_bytes

    ours = [_resource(variable) for variable in variables]
    for variable in sorted(
        (one for one in ours if one is not None), key=_bytes, reverse=True
    ):
        if not missing():
            return
        with tf.device(variable.device):
            _ops().sn_state_out(
                variable=variable.handle,
                tiers=tiers,
                swap_dir=options.swap_dir,
                buffer=variable.name,
            )


def bring_back(device: str) -> None:
    """Brings variables of an accelerator back into its memory.

    What finds no room stays where it is, and is as good there, but slower. On
    the CPU memory is memory: variables stay out until something writes them.
    """
    library = _library.library()
    is_cpu = device.startswith("CPU")
    if is_cpu or library.stats(device)["state_outside_bytes"] == 0:
        return
    with tf.init_scope():
        if tf.executing_eagerly():
            with tf.device(f"/device:{device}"):
                _ops().sn_state_back()


def _resource(variable: Any) -> Any:
    """The tf.Variable behind `variable`, or None."""
    inner = getattr(variable, "value", variable)
    if callable(inner):  # A tf.Variable's own method.
        inner = variable
    return inner if hasattr(inner, "handle") else None


def _bytes(variable: Any) -> int:
    return int(variable.dtype.size) * int(variable.shape.num_elements() or 0)
