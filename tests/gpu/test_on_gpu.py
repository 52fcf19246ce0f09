# SPDX-License-Identifier: Apache-2.0
"""What only a GPU can show; skipped where there is none.

    pytest tests/gpu

docs/gpu.md says which of it has been run on one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sn_tf  # Before TensorFlow allocates anything.
from sn_tf import _library

import tensorflow as tf  # isort: skip

_GPUS = tf.config.list_physical_devices("GPU")

pytestmark = pytest.mark.skipif(
    not _GPUS, reason="this machine has no GPU that TensorFlow can use"
)

_ops: Any = tf.load_op_library(str(_library._LIBRARY_PATH))


@pytest.mark.parametrize(
    "dtype", [tf.float32, tf.float16, tf.bfloat16, tf.int64, tf.bool]
)
@pytest.mark.parametrize("shape", [(), (0,), (3, 5), (1 << 20,)])
def test_a_tensor_comes_back_with_its_bits(
    dtype: tf.DType, shape: tuple[int, ...]
) -> None:
    random = np.random.default_rng(1)
    values = tf.cast(tf.constant(random.integers(0, 2, shape)), dtype)

    @tf.function
    def there_and_back(tensor: tf.Tensor) -> tf.Tensor:
        handle = _ops.sn_swap_out(tensor=tensor)
        return _ops.sn_swap_in(handle=handle, T=dtype)

    with tf.device("/device:GPU:0"):
        back = there_and_back(tf.identity(values))
    assert back.device.endswith("GPU:0")
    np.testing.assert_array_equal(back.numpy(), values.numpy())


def test_what_is_swapped_out_leaves_the_gpu() -> None:
    tf.config.experimental.reset_memory_stats("GPU:0")

    @tf.function
    def many(seed: tf.Tensor) -> tf.Tensor:
        handles = []
        for _ in range(16):
            seed = seed + 1.0
            handles.append(_ops.sn_swap_out(tensor=seed))
        total = seed
        for handle in handles:
            with tf.control_dependencies([total]):
                total += _ops.sn_swap_in(handle=handle, T=tf.float32)
        return total

    size = 4 * (1 << 24)
    with tf.device("/device:GPU:0"):
        before = tf.config.experimental.get_memory_info("GPU:0")["current"]
        result = many(tf.zeros([1 << 24]))
        assert float(result[0]) == 16 + sum(range(1, 17))
        peak = tf.config.experimental.get_memory_info("GPU:0")["peak"]
    assert peak - before < 16 * size


def test_training_is_the_same_with_every_activation_swapped() -> None:
    def loss_of(weight: tf.Variable, x: tf.Tensor, swap: bool) -> tf.Tensor:
        hidden = tf.tanh(x @ weight)
        if swap:
            handle = _ops.sn_swap_out(tensor=hidden)
            hidden = _ops.sn_swap_in(handle=handle, T=tf.float32)
        return tf.reduce_mean(hidden @ weight)

    results = []
    with tf.device("/device:GPU:0"):
        x = tf.random.stateless_normal([256, 256], seed=[1, 2])
        for swap in (False, True):
            weight = tf.Variable(
                tf.random.stateless_normal([256, 256], seed=[3, 4])
            )
            results.append(float(tf.function(loss_of)(weight, x, swap)))
    assert results[0] == results[1]


def test_a_budget_is_refused_as_long_as_none_is_kept() -> None:
    with pytest.raises(ValueError, match="not managed by this version"):
        sn_tf.scope("1GB", device="GPU:0")
