# SPDX-License-Identifier: Apache-2.0
"""Simulated accelerators: devices with their own memory and a link.

They compute with the CPU's kernels, in memory of their own and of fixed size,
and every copy to or from it is a real one, paced to a modelled link. What a
GPU would do to a training's memory can thus be seen without one.

Example:
    >>> import sn_tf
    >>> sn_tf.sim.configure(memory="2GB", link="pcie3")
    >>> with sn_tf.sim.scope():
    ...     model = build()
    ...     model.compile("sgd", "mse")
    ...     model.fit(x, y)
    >>> sn_tf.stats("SIM:0").peak_bytes
"""

from __future__ import annotations

import operator
from contextlib import AbstractContextManager
from typing import Any, SupportsIndex

import tensorflow as tf

from sn_tf import _library
from sn_tf.budget import parse_size
from sn_tf.options import CONFIGURE_SIM


def configure(
    memory: int | str = "8GB",
    *,
    link: str = "pcie3",
    count: SupportsIndex = 1,
) -> None:
    """Makes the simulated devices of this process, "SIM:0" and on.

    Call it right after importing sn_tf: TensorFlow makes its devices when it
    first needs one, and none can be added later.

    Args:
        memory: Memory of each device: bytes, or text such as `"12GB"`. It is
            taken from this machine's as it is used. Defaults to `"8GB"`.
        link: What copies cost: `"pcie3"`, `"pcie4"`, `"pcie5"`, `"nvlink2"`,
            `"nvlink4"`, or `"unlimited"`; all but the last also slowed by a
            whole number, such as `"pcie4/16"`: every copy then takes 16 times
            as long. Or a bandwidth such as `"800MB/s"`: of pinned memory in
            each direction, with half of it for other memory and the latency
            of PCI Express. Defaults to `"pcie3"`.
        count: Number of devices. Defaults to 1.

    Raises:
        ValueError: If an argument is not accepted, if other devices were made
            before, or if TensorFlow has started without any.
    """
    memory_bytes = parse_size(memory, argument="memory")
    devices = _whole_number(count)
    if devices is None:
        raise ValueError(
            f"Invalid value for argument `count`. Received: count={count!r}. "
            "Expected a whole number of devices."
        )
    if not isinstance(link, str) or not (link.isascii() and link.isprintable()):
        raise ValueError(
            f"Invalid value for argument `link`. Received: link={link!r}. "
            "Expected the name of a link, such as 'pcie3' or 'pcie4/16', or a "
            "bandwidth, such as '800MB/s'."
        )
    _library.library().configure_sim(devices, memory_bytes, link)


def device_count() -> int:
    """How many simulated devices this process has."""
    return _library.library().sim_count()


def device_names() -> list[str]:
    """Names of the simulated devices, as `tf.distribute` takes them.

    Raises:
        ValueError: If none is configured: of no names, `tf.distribute` would
            make a strategy for the CPU.

    Example:
        >>> sn_tf.sim.configure("2GB", count=2)
        >>> strategy = tf.distribute.MirroredStrategy(sn_tf.sim.device_names())
    """
    count = device_count()
    if count == 0:
        raise ValueError(f"There are no simulated devices: {CONFIGURE_SIM}.")
    return [f"/device:SIM:{index}" for index in range(count)]


def scope(index: SupportsIndex = 0) -> AbstractContextManager[Any]:
    """A context in which TensorFlow places ops on a simulated device.

    Args:
        index: Which one. Defaults to 0.

    Returns:
        `tf.device("/device:SIM:<index>")`.

    Raises:
        ValueError: If there is no such device.
    """
    number = _whole_number(index)
    count = device_count()
    if number is None or not 0 <= number < count:
        raise ValueError(
            f"There is no device SIM:{index}: "
            + (
                f"{count} simulated devices are configured."
                if count
                else f"{CONFIGURE_SIM}."
            )
        )
    return tf.device(f"/device:SIM:{number}")  # type: ignore[no-any-return]


def _whole_number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    number = operator.index(value)
    # No larger one passes through the C interface.
    return number if abs(number) < 2**31 else None
