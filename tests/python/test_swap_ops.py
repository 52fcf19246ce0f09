# SPDX-License-Identifier: Apache-2.0
"""The swap ops, called directly: what comes back, and what memory they take."""

from __future__ import annotations

import concurrent.futures
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from swapping import move_out, ops, there_and_back, wait_until

from sn_tf import _library
from sn_tf.options import default_device

_Run = Callable[[str], subprocess.CompletedProcess[str]]

_MILLION = 10**6
_BIG = 10 * _MILLION  # Elements: 40 MB of float32.

_REFUSED = (tf.string, tf.resource, tf.variant)
_DTYPES = sorted(
    {
        dtype
        for module in (tf.dtypes, tf.dtypes.experimental)
        for dtype in vars(module).values()
        if isinstance(dtype, tf.DType) and dtype not in _REFUSED
    },
    key=lambda dtype: dtype.name,
)


def _moved(tensor: tf.Tensor) -> tf.Tensor:
    return tf.function(there_and_back)(tensor)


def _stats() -> dict[str, Any]:
    return _library.library().stats(default_device())


def _stored_bytes() -> int:
    return int(_stats()["host_tier_in_use_bytes"])


def _arbitrary(dtype: tf.DType, shape: tuple[int, ...]) -> Any:
    """Values of the type with arbitrary bits."""
    numpy_dtype = np.dtype(dtype.as_numpy_dtype)
    count = int(np.prod(shape))
    random = np.random.default_rng(count)
    if dtype.name in ("int2", "uint2", "int4", "uint4", "float4_e2m1fn"):
        # A value a byte, of whose bits only the lowest count.
        values = random.integers(0, 2, count).astype(numpy_dtype)
    elif dtype == tf.bool:
        values = random.integers(0, 2, count).astype(bool)
    else:
        raw = random.bytes(count * numpy_dtype.itemsize)
        values = np.frombuffer(raw, numpy_dtype)
    return values.reshape(shape)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (17, 5, 3)])
@pytest.mark.parametrize("dtype", _DTYPES, ids=lambda dtype: str(dtype.name))
def test_every_type_comes_back_bit_by_bit(
    dtype: tf.DType, shape: tuple[int, ...]
) -> None:
    values = _arbitrary(dtype, shape)
    before = _stats()
    back = _moved(tf.constant(values, dtype))
    assert back.dtype == dtype
    assert back.shape == shape
    assert back.numpy().tobytes() == values.tobytes()
    after = _stats()
    for key in ("swapped_out_bytes", "swapped_in_bytes"):
        assert after[key] - before[key] == values.nbytes


def test_all_types_are_tested() -> None:
    names = {dtype.name for dtype in _DTYPES}
    assert names >= {
        "bfloat16",
        "bool",
        "complex128",
        "float16",
        "float32",
        "float64",
        "float8_e4m3fn",
        "int4",
        "int8",
        "qint32",
        "uint64",
    }


def test_the_payload_of_a_nan_survives() -> None:
    bits = np.array([0x7FC12345, 0xFFA00001, 0x7F800001, 0x80000000], np.uint32)
    back = _moved(tf.constant(bits.view(np.float32)))
    assert back.numpy().view(np.uint32).tolist() == bits.tolist()


def test_one_handle_may_be_swapped_in_repeatedly() -> None:
    tensor = tf.random.stateless_normal([1000], seed=[1, 2])
    handle = tf.function(move_out)(tensor)
    for _ in range(3):
        back = ops.sn_swap_in(handle=handle, T=tf.float32)
        assert back.numpy().tobytes() == tensor.numpy().tobytes()


def test_storage_lasts_as_long_as_its_handle() -> None:
    assert _stored_bytes() == 0
    before = _stats()
    handle = tf.function(move_out)(tf.zeros([_MILLION]))
    assert _stored_bytes() == 4 * _MILLION
    ops.sn_swap_in(handle=handle, T=tf.float32)
    del handle
    wait_until(lambda: _stored_bytes() == 0)
    after = _stats()
    for key in ("swapped_out_bytes", "swapped_in_bytes"):
        assert after[key] - before[key] == 4 * _MILLION


def test_types_that_refer_to_other_memory_are_refused() -> None:
    list_of_tensors = tf.raw_ops.EmptyTensorList(
        element_shape=[1], max_num_elements=1, element_dtype=tf.float32
    )
    for value in (tf.constant("text"), list_of_tensors):
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=f"SnSwapOut cannot move tensors of type {value.dtype.name}",
        ):
            ops.sn_swap_out(tensor=value)


def test_a_handle_of_another_type_is_refused() -> None:
    handle = ops.sn_swap_out(tensor=tf.zeros([3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="is float"):
        ops.sn_swap_in(handle=handle, T=tf.int32)


def test_the_shape_is_inferred_through_the_handle() -> None:
    shapes = []

    @tf.function(input_signature=[tf.TensorSpec([None, 7], tf.float16)])
    def step(x: tf.Tensor) -> tf.Tensor:
        back = there_and_back(x)
        shapes.append(back.shape.as_list())
        return back

    assert step(tf.zeros([2, 7], tf.float16)).shape == [2, 7]
    assert shapes == [[None, 7]]


def test_a_constant_may_be_swapped() -> None:
    # TensorFlow evaluates what follows from constants when it optimises.
    constant = np.arange(1000, dtype=np.float32)

    @tf.function
    def step() -> tf.Tensor:
        return there_and_back(tf.constant(constant))

    assert step().numpy().tobytes() == constant.tobytes()


def test_memory_is_free_when_the_successor_of_a_swap_out_runs() -> None:
    @tf.function
    def step(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        handle = ops.sn_swap_out(tensor=x * 2.0)
        with tf.control_dependencies([ops.sn_swap_wait(handle=handle)]):
            other = tf.reduce_sum(x + 1.0)
        with tf.control_dependencies([other]):
            return other, tf.reduce_sum(
                ops.sn_swap_in(handle=handle, T=tf.float32)
            )

    x = tf.ones([_BIG])
    step(x)
    for _ in range(20):
        _library.library().reset_peak("CPU:0")
        in_use = _stats()["in_use_bytes"]
        results = [float(result) for result in step(x)]
        assert results == [2.0 * _BIG, 2.0 * _BIG]
        # One big tensor at a time; two of them would be 80 MB.
        peak = _stats()["peak_bytes"] - in_use
        assert 40 * _MILLION <= peak < 41 * _MILLION
        wait_until(lambda: _stored_bytes() == 0)


def test_loops_swap_in_every_iteration() -> None:
    @tf.function
    def steps(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(10):
            x = there_and_back(x + 1.0)
        return x

    assert steps(tf.zeros([1000])).numpy().tolist() == [10.0] * 1000
    wait_until(lambda: _stored_bytes() == 0)


def test_concurrent_steps_do_not_disturb_each_other() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def step(x: tf.Tensor) -> tf.Tensor:
        handles = [ops.sn_swap_out(tensor=x * factor) for factor in range(1, 9)]
        return tf.stack(
            [ops.sn_swap_in(handle=handle, T=tf.int32) for handle in handles]
        )

    def run(number: int) -> bool:
        x = np.arange(1000 + 37 * number, dtype=np.int32)
        expected = np.stack([x * factor for factor in range(1, 9)])
        return bool(np.array_equal(step(tf.constant(x)).numpy(), expected))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(200)))
    wait_until(lambda: _stored_bytes() == 0)


def test_a_failed_step_leaves_nothing_stored() -> None:
    @tf.function
    def step(x: tf.Tensor, fails: tf.Tensor) -> tf.Tensor:
        handles = [ops.sn_swap_out(tensor=x + float(i)) for i in range(8)]
        tf.debugging.assert_equal(fails, False, "made to fail")
        return tf.add_n(
            [ops.sn_swap_in(handle=handle, T=tf.float32) for handle in handles]
        )

    x = tf.ones([_MILLION])

    def fail() -> None:
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="made to fail"
        ):
            step(x, tf.constant(True))
        wait_until(lambda: _stored_bytes() == 0)

    fail()
    in_use = _stats()["in_use_bytes"]
    for _ in range(10):
        fail()
        wait_until(lambda: _stats()["in_use_bytes"] == in_use)


def test_a_cancelled_step_ends_and_leaves_nothing_stored() -> None:
    with tf.Graph().as_default():
        tensor = tf.fill([_BIG], tf.compat.v1.placeholder(tf.float32, []))
        x = tensor.op.inputs[1]
        for _ in range(20):
            tensor = there_and_back(tensor)
        total = tf.reduce_sum(tensor)
        with tf.compat.v1.Session() as session:
            assert session.run(total, {x: 1.0}) == _BIG
            in_use = _stats()["in_use_bytes"]
            hurry = tf.compat.v1.RunOptions(timeout_in_ms=20)
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(total, {x: 1.0}, options=hurry)
            assert session.run(total, {x: 1.0}) == _BIG
            wait_until(lambda: _stored_bytes() == 0)
            wait_until(lambda: _stats()["in_use_bytes"] == in_use)


_EXITS_WHILE_COPYING = """
import threading, time
import sn_tf
import tensorflow as tf
from sn_tf import _library

ops = tf.load_op_library(str(_library._LIBRARY_PATH))

@tf.function
def step(x):
    for _ in range(50):
        handle = ops.sn_swap_out(tensor=x)
        x = ops.sn_swap_in(handle=handle, T=tf.float32)
    return x

def forever():
    while True:
        step(tf.zeros([4_000_000]))

before = sn_tf.stats().swapped_out_bytes
threading.Thread(target=forever, daemon=True).start()
while sn_tf.stats().swapped_out_bytes == before:
    time.sleep(0.01)
print("copying")
"""


def test_the_process_may_exit_while_copies_are_under_way(
    run_python: _Run,
) -> None:
    result = run_python(_EXITS_WHILE_COPYING)
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("copying\n")
