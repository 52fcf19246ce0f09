# SPDX-License-Identifier: Apache-2.0
"""What is told when memory runs out."""

from __future__ import annotations

import tensorflow as tf

from sn_tf import _library
from sn_tf.errors import InfeasibleBudgetError
from sn_tf.options import device_name


def last_oom(device: str | None = None) -> str | None:
    """What was told when the device's memory last ran out.

    In some twenty lines: what was asked for, the budget and what was in use,
    the ten largest live buffers by op, what could not be moved out and why,
    the smallest budget that would fit, and three things to try. Of a step that
    sn_tf planned, that is the step's own error; TensorFlow's error for any
    other step says less. Of a step that went on without the memory (a kernel
    may have a second way), it is told all the same.

    Args:
        device: Device name. Defaults to `$SN_TF_DEVICE`, else `"CPU:0"`.

    Returns:
        The message, or None where memory never ran out in this process.

    Raises:
        ValueError: If sn_tf does not manage the memory of `device`.

    Example:
        >>> try:
        ...     model.fit(x, y)
        ... except tf.errors.ResourceExhaustedError:
        ...     print(sn_tf.last_oom())
    """
    number, message = _library.library().last_oom(device_name(device))
    return message if number else None


class OomNotes:
    """Adds to errors what was told when memory ran out.

    TensorFlow's own error names the op and the size only.
    """

    def __init__(self, device: str) -> None:
        """Takes what is told of `device` from now on."""
        self._device = device
        self._told = _library.library().last_oom(device)[0]

    def add_to(self, error: BaseException | None) -> None:
        """Adds a note to `error` where it is of memory, and says less."""
        if not isinstance(
            error, (tf.errors.ResourceExhaustedError, InfeasibleBudgetError)
        ):
            return
        told, message = _library.library().last_oom(self._device)
        # Inner scopes may have added it.
        said = "\n".join([str(error), *getattr(error, "__notes__", [])])
        if told > self._told and message not in said:
            error.add_note(message)
