# SPDX-License-Identifier: Apache-2.0
"""Processes that are interrupted, that fork, and that end."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from swapping import START

_RunPython = Callable[..., subprocess.CompletedProcess[str]]

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

# A process that began in the background has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

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


_ENDS_AFTER_FIT = (
    START
    + """
import keras

images, values = np.ones([128, 32, 32, 3], np.float32), np.ones([128, 10])
model = keras.Sequential([keras.Input((32, 32, 3))])
for _ in range(6):
    model.add(keras.layers.Conv2D(16, 3, padding="same"))
    model.add(keras.layers.BatchNormalization())
model.add(keras.layers.GlobalAveragePooling2D())
model.add(keras.layers.Dense(10))
model.compile("adam", "mse")
most = sn_tf.stats().in_use_bytes + 15_000_000
model.fit(images, values, 32, 2, verbose=0,
          callbacks=[sn_tf.MemoryBudget(most)])
generation = max(plan.generation for plan in sn_tf.report())
child = os.fork()
if child == 0:
    sys.exit(7)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps([generation, code]))
"""
)


def test_a_child_may_end_as_programs_do_after_plans_were_replaced(
    results: Callable[[str], Any],
) -> None:
    generation, code = results(_ENDS_AFTER_FIT)
    assert generation > 0
    assert code == 7


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
