# SPDX-License-Identifier: Apache-2.0
"""What is told when memory runs out, and that training goes on after it."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import json
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import keras
import pytest
import tensorflow as tf
from programs import START

import sn_tf
from sn_tf import _library

_MB = 1_000_000
_LARGE = 64 * 1024
_PARTS = 14
_LINE = re.compile(r"  +([0-9.]+ (?:kB|MB)|[0-9]+ B)  (.+)")


def _sum_of_parts(x: tf.Tensor) -> tf.Tensor:
    """All of its parts, of 1 MB each, are live before the sum is made."""
    return tf.add_n([tf.exp(x * float(i)) for i in range(_PARTS)])


def _ones() -> tf.Tensor:
    return tf.ones([_MB // 4])


@contextlib.contextmanager
def _limited(beyond_bytes: int) -> Iterator[int]:
    """Stock TensorFlow inside a budget of so much more than is in use."""
    device = sn_tf.options.default_device()
    library = _library.library()
    budget = sn_tf.stats().in_use_bytes + beyond_bytes
    library.set_budget(device, budget)
    try:
        yield budget
    finally:
        library.set_budget(device, 0)


@contextlib.contextmanager
def _trace(events: list[dict[str, Any]]) -> Iterator[None]:
    """Adds what the allocator did meanwhile to `events`."""
    device = sn_tf.options.default_device().encode()
    library = ctypes.CDLL(str(_library._LIBRARY_PATH))
    library.SnTfTraceStop.restype = ctypes.c_void_p
    library.SnTfTraceStart(device)
    try:
        yield
    finally:
        text = library.SnTfTraceStop(device)
        events += json.loads(ctypes.string_at(text).decode())
        library.SnTfFreeString(ctypes.c_void_p(text))


def _live_when_refused(events: list[dict[str, Any]]) -> collections.Counter:
    """Bytes by op that were live, and made meanwhile, at the first refusal."""
    live = {}
    for event in events:
        if event["event"] == "refused":
            break
        if event["event"] == "alloc":
            live[event["id"]] = event
        else:
            live.pop(event["id"], None)
    else:
        raise AssertionError("nothing was refused")
    by_op: collections.Counter = collections.Counter()
    for block in live.values():
        if block["bytes"] >= _LARGE:
            by_op[block["op"]] += block["bytes"]
    return by_op


def _largest(message: str) -> list[tuple[str, str]]:
    """Size and the rest of each line of the list of live buffers."""
    _, _, rest = message.partition("Largest live buffers, by op:\n")
    lines = []
    for line in rest.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            break
        lines.append((match[1], match[2]))
    return lines


def _assert_complete(message: str, budget: int) -> None:
    assert "OOM when allocating" in message
    assert (
        f"Budget: {budget / 1e6:.1f} MB ({budget} bytes). In use: " in message
    )
    assert "The tensor cache " in message
    smallest = re.search(
        r"Smallest budget that would fit: .*?(\d+) bytes", message
    )
    assert smallest is not None
    assert int(smallest[1]) > budget / 2
    things = re.findall(r"^  ([123])\. .{20,}$", message, re.M)
    assert things == ["1", "2", "3"]
    own = message[message.index("OOM when") : message.index("\n  3. ")]
    assert own.count("\n") < 25


@pytest.mark.alone
def test_stock_tensorflow_out_of_memory_is_told_whole() -> None:
    step = tf.function(_sum_of_parts)
    x = _ones()
    graph = step.get_concrete_function(x).graph
    names = {op.name for op in graph.get_operations()}
    events: list[dict[str, Any]] = []
    with _limited(int((_PARTS - 0.5) * _MB)) as budget:
        with _trace(events), pytest.raises(tf.errors.ResourceExhaustedError):
            step(x)
        message = sn_tf.last_oom()
        assert message is not None
        _assert_complete(message, budget)
        live = _live_when_refused(events)
        lines = [
            line for line in _largest(message) if "before this" not in line[1]
        ]
        told = [what.split(":")[0] for _, what in lines[:-1]]
        assert len(told) >= 9
        assert told == sorted(told)  # All are of one size.
        assert set(told) <= names & set(live)
        for size, what in lines[:-1]:
            op = what.split(":")[0]
            assert size == f"{live[op] / 1e6:.1f} MB"
            assert "float[250000]" in what
        needed = re.search(r"at least .*?(\d+) bytes", message)
        assert needed is not None
        assert int(needed[1]) > budget
    # And goes on.
    assert float(step(x)[0]) > 0


@pytest.mark.alone
def test_a_planned_step_fails_with_all_of_it() -> None:
    kernels = [tf.Variable(tf.ones([32, 32]) / 32) for _ in range(3)]
    images = tf.random.stateless_normal([16 * 1024, 32], [1, 2])

    @tf.function
    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            hidden = images
            for kernel in kernels:
                hidden = tf.nn.relu(tf.matmul(hidden, kernel))
            loss = tf.reduce_mean(hidden)
        gradients = tape.gradient(loss, kernels)
        for kernel, gradient in zip(kernels, gradients, strict=True):
            kernel.assign_sub(gradient)
        return loss

    budget = sn_tf.stats().in_use_bytes + 12 * _MB
    with sn_tf.scope(budget):
        for _ in range(3):
            step()
        hog = tf.zeros([9 * _MB // 4])
        with pytest.raises(tf.errors.ResourceExhaustedError) as raised:
            step()
        del hog
    message = str(raised.value)
    _assert_complete(message, budget)
    assert (
        "No weight was changed" in message or "may have been updated" in message
    )
    assert sn_tf.last_oom() is not None
    assert str(sn_tf.last_oom()) in message
    assert not hasattr(raised.value, "__notes__")
    told = _largest(message)
    assert len(told) >= 3
    # The hog is named, and that the step did not make it.
    (of_hog,) = [what for size, what in told if size == "9.0 MB"]
    assert "float[2250000], from before this step" in of_hog
    with sn_tf.scope(budget):
        step()


def test_a_scope_adds_a_note_to_tensorflows_own_error() -> None:
    budget = sn_tf.stats().in_use_bytes + 4 * _MB
    with (
        pytest.raises(tf.errors.ResourceExhaustedError) as raised,
        sn_tf.scope(budget),
        sn_tf.scope(budget),
    ):
        tf.zeros([5 * _MB])
    (note,) = raised.value.__notes__
    assert note == sn_tf.last_oom()
    _assert_complete(note, budget)
    assert "OOM when allocating 20.0 MB (20000000 bytes)" in note
    with sn_tf.scope(budget):
        assert float(tf.zeros([_MB // 4])[0]) == 0


def test_an_error_of_another_kind_gets_no_note() -> None:
    budget = sn_tf.stats().in_use_bytes + 4 * _MB
    with (
        pytest.raises(tf.errors.ResourceExhaustedError) as raised,
        sn_tf.scope(budget),
    ):
        raise tf.errors.ResourceExhaustedError(None, None, "of something else")
    assert not hasattr(raised.value, "__notes__")


class _Branch(keras.layers.Layer):  # type: ignore[misc]
    """A conditional of 40 MB a sample, so that its step is left as it is."""

    def call(self, x: Any) -> Any:
        def wide() -> tf.Tensor:
            shape = [tf.shape(x)[0], 10 * _MB]
            return tf.reduce_mean(tf.exp(tf.broadcast_to(x[:, :1], shape)))

        return x + tf.cond(tf.reduce_sum(x) > 0, wide, lambda: 0.0)


def test_the_callback_adds_a_note() -> None:
    model = keras.Sequential(
        [keras.Input((4,)), _Branch(), keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse")
    x, y = tf.ones([2, 4]), tf.ones([2, 1])
    budget = sn_tf.stats().in_use_bytes + 20 * _MB
    with pytest.raises(tf.errors.ResourceExhaustedError) as raised:
        model.predict(x, verbose=0, callbacks=[sn_tf.MemoryBudget(budget)])
    assert sn_tf.last_oom() in raised.value.__notes__
    _assert_complete(str(sn_tf.last_oom()), budget)
    assert y.shape == model.predict(x, verbose=0).shape


_SIM = START + textwrap.dedent("""
    sn_tf.sim.configure("16MB", link="unlimited")
    assert sn_tf.last_oom("SIM:0") is None

    def parts(x):
        return tf.add_n([tf.exp(x * float(i)) for i in range(14)])

    def run(size):
        with sn_tf.sim.scope():
            return float(tf.function(parts)(tf.ones([size]))[0])
""")


def test_a_simulated_device_tells_of_its_memory(
    results: Callable[[str], Any],
) -> None:
    message, error, after = results(
        _SIM
        + textwrap.dedent("""
            try:
                run(350_000)
            except tf.errors.ResourceExhaustedError as e:
                error = e.message
            print(json.dumps([sn_tf.last_oom("SIM:0"), error, run(1000)]))
        """)
    )
    assert "by allocator SIM_0_bfc" in error
    assert "by SIM_0_bfc: the device has no such block." in message
    assert re.search(r"Memory: 16\.\d MB", message)
    told = [what.split(":")[0] for _, what in _largest(message)]
    assert sum(op.startswith(("Exp", "mul")) for op in told) >= 8
    assert len(told) == 11
    assert re.search(r"fit: at least 1[67]\.\d MB", message)
    assert "  1. Use a device with at least " in message
    assert len(re.findall(r"^  [123]\. ", message, re.M)) == 3
    assert after > 0


def test_nothing_was_told_where_memory_never_ran_out(
    results: Callable[[str], Any],
) -> None:
    assert results(START + "print(json.dumps(sn_tf.last_oom()))") is None


def test_of_an_unknown_device_nothing_can_be_told() -> None:
    with pytest.raises(ValueError, match="TPU:0"):
        sn_tf.last_oom("TPU:0")
