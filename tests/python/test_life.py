# SPDX-License-Identifier: Apache-2.0
"""Beginnings and ends: of management, of steps, of processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from swapping import (
    MOST_STEPS,
    START,
    Net,
    budget,
    equal,
    wait_until,
    weights_after,
)

import sn_tf
from sn_tf import _library, session

_RunPython = Callable[..., subprocess.CompletedProcess[str]]

_ops: Any = tf.load_op_library(str(_library._LIBRARY_PATH))


@pytest.fixture
def swapping(tmp_path: Path) -> dict[str, Any]:
    """Settings with which nets swap all the time."""
    return {"tiers": "file", "swap_dir": str(tmp_path), "policy": "swap"}


def _stored_bytes() -> int:
    return sum(tier.taken_bytes for tier in sn_tf.stats().tiers)


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_switched_on_and_off_fifty_times(swapping: dict[str, Any]) -> None:
    weights = weights_after(0), weights_after(2)
    net, most = Net(), budget(0.7)
    seen = []
    in_use = []
    for _ in range(50):
        net.set_weights(weights[0])
        sn_tf.enable(most, **swapping)
        net.step()
        net.step()
        sn_tf.disable()
        assert equal(net.weights(), weights[1])
        assert sn_tf.stats().budget_bytes == 0
        seen.append((_open_files(), threading.active_count(), _stored_bytes()))
        in_use.append(sn_tf.stats().in_use_bytes)
    assert set(seen[1:]) == {seen[1]}
    # TensorFlow keeps each instance of a function, and its scalar constants.
    assert in_use[-1] - in_use[1] < 48 * 2048


def test_two_models_in_turn(swapping: dict[str, Any]) -> None:
    nets = Net(1), Net(2)
    references = [weights_after(MOST_STEPS, seed) for seed in (1, 2)]
    with sn_tf.scope(budget(0.7), **swapping):
        for _ in range(MOST_STEPS):
            for net in nets:
                net.step()
    for net, reference in zip(nets, references, strict=True):
        assert equal(net.weights(), reference)


def test_a_cancelled_step_ends_and_gives_back_what_it_took(
    tmp_path: Path,
) -> None:
    v1 = tf.compat.v1
    in_use = sn_tf.stats().in_use_bytes
    with tf.Graph().as_default(), v1.Session() as v1_session:
        value = v1.placeholder(tf.float32, [])
        handle = _ops.sn_swap_out(
            tensor=tf.fill([1000, 100], value),
            tiers="file",
            swap_dir=str(tmp_path),
        )
        queue = v1.FIFOQueue(1, [tf.float32], [[]])
        with tf.control_dependencies([_ops.sn_swap_wait(handle=handle)]):
            passed = queue.dequeue()
        with tf.control_dependencies([passed]):
            back = _ops.sn_swap_in(handle=handle, T=tf.float32)
        # It waits for the queue until its time is over.
        total = tf.reduce_sum(back)
        for _ in range(3):
            with pytest.raises(tf.errors.DeadlineExceededError):
                v1_session.run(
                    total, {value: 1.0}, v1.RunOptions(timeout_in_ms=200)
                )
            wait_until(lambda: _stored_bytes() == 0)
            # Less than the tensor: the session keeps constants.
            wait_until(lambda: sn_tf.stats().in_use_bytes < in_use + 100_000)
        v1_session.run(queue.enqueue(0.0))
        assert v1_session.run(total, {value: 1.0}) == 100_000


class _CtrlC:
    """Interrupts what `session` does, at its n-th line."""

    def __init__(self, line: int) -> None:
        self._left = line

    def __enter__(self) -> None:
        sys.settrace(self._on_call)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    @property
    def happened(self) -> bool:
        return self._left < 0

    def _on_call(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != session.__file__:
            return None
        if frame.f_code.co_name == "__exit__":
            return self._past_entrance  # Nothing could guard that.
        return self._on_line

    def _past_entrance(self, *_: object) -> Any:
        return self._on_line

    def _on_line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self._left -= 1
            if self._left == -1:
                raise KeyboardInterrupt
        return self._on_line


def test_ctrl_c_anywhere_puts_everything_back() -> None:
    managing = session.open_session(session.Settings.of(budget="8GB"))
    entered = []
    try:
        for line in range(1000):
            ctrl_c = _CtrlC(line)
            try:
                with ctrl_c, session.Activation(managing):
                    entered.append(line)
            except KeyboardInterrupt:
                pass
            assert sn_tf.stats().budget_bytes == 0
            assert not _library.is_managed()
            assert not session._active
            if not ctrl_c.happened:
                break
    finally:
        managing.release()
    # Within `start`, and within `stop`.
    assert 10 < entered[0] < line - 10


_INTERRUPTED = (
    START
    + """
import keras

keras.utils.set_random_seed(1)
x, y = np.random.normal(size=(512, 32)), np.zeros(512)
model = keras.Sequential(
    [keras.Input((32,))]
    + [keras.layers.Dense(256, activation="tanh") for _ in range(6)]
    + [keras.layers.Dense(1)]
)
model.compile("sgd", "mse")
model.fit(x, y, batch_size=256, verbose=0)
# Of the 6 activations of 262 kB not all may stay.
callback = sn_tf.MemoryBudget(
    sn_tf.stats().in_use_bytes + 1_500_000, policy="swap", tiers="file"
)

def fit(epochs):
    return model.fit(
        x, y, batch_size=256, epochs=epochs, verbose=0, callbacks=[callback]
    ).history["loss"]

fit(2)
gc.collect()
before = sn_tf.stats().in_use_bytes
already = swapped()

def interrupt():
    wait_until(lambda: swapped() > already)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    fit(10**9)
except KeyboardInterrupt:
    interrupted = True
gc.collect()
wait_until(lambda: stored() == 0)
wait_until(lambda: sn_tf.stats().in_use_bytes < before + 100_000)
budget_bytes = sn_tf.stats().budget_bytes
losses = fit(2)
print(json.dumps([interrupted, budget_bytes, losses]))
"""
)


def test_ctrl_c_in_fit(results: Callable[[str], Any]) -> None:
    interrupted, budget_bytes, losses = results(_INTERRUPTED)
    assert interrupted
    assert budget_bytes == 0
    assert np.all(np.isfinite(losses))


_FORKS = (
    START
    + """
import keras

net = Net()
reference = weights_after(2)
settings = {"tiers": "file", "policy": "swap"}
most = budget(0.7)

def in_child(use):
    # What it raised there, or "".
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            use()
            message = ""
        except BaseException as error:
            message = f"{type(error).__name__}: {error}"
        os.write(write, message.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        message = answer.read()
    os.waitpid(child, 0)
    return message

def enter_scope():
    with sn_tf.scope(most, **settings):
        pass

keras.config.disable_interactive_logging()
model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x = y = np.zeros([8, 1])

def fit():
    model.fit(x, y, callbacks=[sn_tf.MemoryBudget(most, **settings)])

callback = sn_tf.MemoryBudget(most, **settings)
callback.set_model(model)

messages = {"before use": in_child(sn_tf.stats)}
sn_tf.enable(most, **settings)
net.step()
messages |= {
    "a planned step": in_child(net.step),
    "while on": in_child(lambda: sn_tf.enable(most, **settings)),
    "disable": in_child(sn_tf.disable),
}
sn_tf.disable()
with sn_tf.scope(most, **settings):
    net.step()
    messages |= {
        "enable": in_child(lambda: sn_tf.enable(most, **settings)),
        "scope": in_child(enter_scope),
        "fit": in_child(fit),
        "older callback": in_child(callback.on_train_begin),
        "stats": in_child(sn_tf.stats),
    }
messages["weights"] = equal(net.weights(), reference)
print(json.dumps(messages))
"""
)


def test_a_forked_child_is_told_that_it_cannot_use_it(
    results: Callable[[str], Any],
) -> None:
    messages = results(_FORKS)
    assert messages.pop("weights")
    assert messages.pop("disable") == ""
    for use, message in messages.items():
        assert message.startswith("RuntimeError: This process was forked"), use
        assert 'get_context("spawn")' in message


_FORKED_BEFORE_USE = (
    START
    + """
def train(_=None):
    reference = weights_after(2)
    net = Net()
    with sn_tf.scope(budget(0.7), policy="swap", tiers="file"):
        net.step()
        net.step()
    return equal(net.weights(), reference) and swapped() > 0

with multiprocessing.get_context("fork").Pool(2) as pool:
    print(json.dumps([*pool.map(train, range(2)), train()]))
"""
)


def test_a_child_forked_before_the_first_use_may_train(
    results: Callable[[str], Any],
) -> None:
    assert results(_FORKED_BEFORE_USE) == [True, True, True]


_DATA_LOADERS = (
    START
    + """
reference = weights_after(6)
net = Net()

def load(number):
    return np.full(1000, number).sum() / 1000

def child_of_its_own():
    # Ends as programs do, not by os._exit.
    child = os.fork()
    if child == 0:
        sys.exit(int(load(7)))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

sn_tf.enable(budget(0.6), policy="swap", tiers="file")
context = multiprocessing.get_context("fork")
loaded, codes = [], []
net.step()
with context.Pool(2) as pool:
    for number in range(5):
        coming = pool.apply_async(load, [number])
        net.step()
        loaded.append(coming.get(60))
process = context.Process(target=load, args=[1])
process.start()
process.join()
codes += [process.exitcode, child_of_its_own()]
print(json.dumps([loaded, codes, equal(net.weights(), reference)]))
"""
)


def test_children_that_load_data_may_be_forked_at_any_time(
    run_python: _RunPython,
) -> None:
    done = run_python(_DATA_LOADERS)
    assert done.returncode == 0, done.stderr
    loaded, codes, same = json.loads(done.stdout.splitlines()[-1])
    assert loaded == [0, 1, 2, 3, 4]
    assert codes == [0, 7]
    assert same
    assert "Error" not in done.stderr


_EXITS = (
    START
    + """
def train():
    net = Net()
    with sn_tf.scope(
        most, policy="swap", tiers="file", swap_dir=sys.argv[1]
    ):
        while True:
            net.step()

weights_after(1)
most = budget(0.6) + DEPTH * BUFFER_BYTES + 2 * BUFFER_BYTES
threading.Thread(target=train, daemon=True).start()
wait_until(lambda: swapped() > 10 * BUFFER_BYTES)
print("copying", flush=True)
"""
)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("os._exit(4)", 4),
        ("raise RuntimeError('of the program')", 1),
        ("threading.Thread(target=os._exit, args=[5]).start(); train()", 5),
        ("os.kill(os.getpid(), signal.SIGTERM)", -15),
    ],
)
def test_a_process_may_end_while_it_copies(
    run_python: _RunPython, tmp_path: Path, end: str, code: int
) -> None:
    done = run_python(_EXITS + end, str(tmp_path))
    assert done.returncode == code, done.stderr
    assert done.stdout.splitlines()[-1] == "copying"
    assert list(tmp_path.iterdir()) == []
    for word in ("Fatal", "terminate called", "Segmentation"):
        assert word not in done.stderr
