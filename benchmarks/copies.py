# SPDX-License-Identifier: Apache-2.0
"""Copies between host memory and the simulated device, by TensorFlow's ways.

Memory that is not pinned is copied where a function's ops are on both devices;
pinned memory by the swap ops, as plans use them. A call makes all its copies
at once, so that each waits for the one before it and for nothing else.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

import sn_tf
from sn_tf import _library

# Copies of a call. Few enough that latency is nothing beside a large copy.
CHUNKS = 16
PATHS = (
    "to device, pageable",
    "to host, pageable",
    "to device, pinned",
    "to host, pinned",
)
_SIM = "/device:SIM:0"
_CPU = "/device:CPU:0"


class Copies(NamedTuple):
    """One path: `make` makes its copies and returns once they have ended."""

    make: Callable[[], object]
    # Comes before each `make`, and is not measured.
    prepare: Callable[[], object] = lambda: None

    def warm_up(self):
        """Traces the functions, and touches the memory."""
        self.prepare()
        self.make()


def memory_bytes(total_bytes):
    """Device memory for calls that copy `total_bytes`, one at a time."""
    # Both directions at once: what leaves, and room for what arrives. Tiny
    # sizes need some for TensorFlow's own.
    return 3 * total_bytes + 64 * 2**20


def keep_all_ops():
    """Keeps TensorFlow from dropping ops whose results nobody reads."""
    tf.config.optimizer.set_experimental_options(
        {"disable_meta_optimizer": True}
    )


def make(total_bytes):
    """Makes the copies of `PATHS`.

    Args:
        total_bytes: What each copies, rounded down to whole chunks.

    Returns:
        A dictionary from path to its `Copies`.
    """
    chunk_bytes = max(1, total_bytes // CHUNKS)
    with tf.device(_CPU):
        on_host = tf.ones([chunk_bytes], tf.uint8)
    with tf.device(_SIM):
        on_device = tf.identity(on_host)
    ops = tf.load_op_library(str(_library._LIBRARY_PATH))
    swap_in, swap_out = _swaps(ops, on_device)
    return {
        "to device, pageable": _across(on_host, _CPU, _SIM),
        "to host, pageable": _across(on_device, _SIM, _CPU),
        "to device, pinned": swap_in,
        "to host, pinned": swap_out,
    }


def _across(tensor, source, destination):
    """Copies from one device to the other, of memory that is not pinned."""

    @tf.function
    def copy(tensors):
        with tf.device(destination):
            return _once_done([tf.identity(one) for one in tensors])

    def copy_all():
        # What was copied once is kept with a tensor: each needs a new one,
        # which has the same memory.
        with tf.device(source):
            tensors = [tf.identity(tensor) for _ in range(CHUNKS)]
        copy(tensors).numpy()

    return Copies(copy_all)


def _swaps(ops, tensor):
    """Copies into the device and out of it, of pinned memory."""

    @tf.function
    def swap_out(tensor):
        with tf.device(_SIM):
            return move_out(ops, [tensor] * CHUNKS)

    @tf.function
    def swap_in(handles):
        with tf.device(_SIM):
            return _once_done(move_in(ops, handles, tensor.dtype))

    # Only what has been swapped out can be swapped in.
    away = []
    return (
        Copies(
            lambda: swap_in(away.pop()).numpy(),
            lambda: away.append(swap_out(tensor)),
        ),
        Copies(lambda: swap_out(tensor)),
    )


def move_out(ops, tensors, **where):
    """Moves tensors out by the swap ops; in a function.

    Args:
        ops: Of the library.
        tensors: What moves; one may be among them more than once.
        **where: Attributes `tiers` and `swap_dir`.

    Returns:
        Their handles, once all have left.
    """
    handles = [
        # Of ops that are alike in all but their names TensorFlow keeps one.
        ops.sn_swap_out(tensor=tensor, buffer=str(at), needed_at=at, **where)
        for at, tensor in enumerate(tensors)
    ]
    gone = [ops.sn_swap_wait(handle=handle) for handle in handles]
    with tf.control_dependencies(gone):
        return [tf.identity(handle) for handle in handles]


def move_in(ops, handles, dtype):
    """Brings them back: as a backward pass does, the last first."""
    return [
        ops.sn_swap_in(handle=handle, T=dtype, buffer=str(at), needed_at=-at)
        for at, handle in reversed(list(enumerate(handles)))
    ]


def _once_done(tensors):
    """A small result, on the host, that is there when `tensors` are."""
    with tf.control_dependencies(tensors), tf.device(_CPU):
        return tf.constant(0)


def measure(call, prepare=lambda: None):
    """Calls `prepare`, and then `call`.

    Returns:
        The wall time of `call`, and what the link of SIM:0 saw of it.
    """
    prepare()
    before = sn_tf.stats("SIM:0").link
    begin = time.perf_counter()
    call()
    seconds = time.perf_counter() - begin
    return seconds, sn_tf.stats("SIM:0").link.since(before)
