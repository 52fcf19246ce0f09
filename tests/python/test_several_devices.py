# SPDX-License-Identifier: Apache-2.0
"""Several devices at once, each under a budget of its own."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from programs import START

_START = (
    START
    + """
sn_tf.sim.configure("256MB", link="unlimited", count=2)
DEVICES = ("SIM:0", "SIM:1")
"""
)

_TRAIN = (
    _START
    + """
def train(strategy, callbacks=()):
    set_out()
    data = np.random.RandomState(0)
    x = data.rand(64, 24, 24, 3).astype("float32")
    y = data.rand(64, 10).astype("float32")
    with strategy.scope() if strategy else contextlib.nullcontext():
        model = keras.Sequential([layers.Input((24, 24, 3))])
        for _ in range(12):
            model.add(layers.Dense(32))
            model.add(layers.Activation("tanh"))
        model.add(layers.GlobalAveragePooling2D())
        model.add(layers.Dense(10))
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    for device in DEVICES:
        sn_tf.reset_peak(device)
    history = model.fit(
        x, y, batch_size=32, epochs=3, shuffle=False, verbose=0,
        callbacks=list(callbacks),
    )
    return {
        "losses": history.history["loss"],
        "weights": hexadecimal(model),
        "peaks": [sn_tf.stats(device).peak_bytes for device in DEVICES],
        "plans": [[plan.device, plan.swapped_bytes] for plan in sn_tf.report()],
    }

strategy = tf.distribute.MirroredStrategy(sn_tf.sim.device_names())
"""
)


def test_replicas_train_each_under_its_own_budget(
    results: Callable[[str], Any],
) -> None:
    alone, order, planned = results(
        _TRAIN
        + textwrap.dedent("""
            def budgets(*sizes, **options):
                return [
                    sn_tf.MemoryBudget(size, device=device, **options)
                    for size, device in zip(sizes, DEVICES)
                ]
            print(json.dumps([
                train(None),
                train(strategy, budgets("99%", "99%", policy="liveness")),
                train(strategy, budgets("11MB", "14MB")),
            ]))
        """)
    )
    # Each replica sums half of the batch.
    assert order["losses"] == pytest.approx(alone["losses"], rel=1e-5)
    assert planned["losses"] == order["losses"]
    assert planned["weights"] == order["weights"]
    assert [device for device, _ in planned["plans"]] == ["SIM:0", "SIM:1"]
    swapped = [swapped for _, swapped in planned["plans"]]
    assert swapped[0] > swapped[1] > 0
    assert min(order["peaks"]) > 14_000_000
    assert planned["peaks"][0] <= 11_000_000
    assert planned["peaks"][1] <= 14_000_000


def test_what_one_replica_gives_the_other_does_not_stop_the_step(
    results: Callable[[str], Any],
) -> None:
    found = results(
        _START
        + textwrap.dedent("""
            strategy = tf.distribute.MirroredStrategy(sn_tf.sim.device_names())

            def replica(x):
                for _ in range(4):
                    x = tf.sin(x)
                context = tf.distribute.get_replica_context()
                return context.all_reduce("sum", x)

            @tf.function
            def step(x):
                first, second = strategy.experimental_local_results(
                    strategy.run(replica, (x,))
                )
                with tf.device("/device:SIM:0"):
                    given = tf.sin(second)
                    for _ in range(8):
                        first = tf.sin(first)
                    return given, first

            x = tf.random.stateless_uniform([512, 512], [1, 2])
            expected = step(x)[1].numpy()
            with contextlib.ExitStack() as stack:
                for device in DEVICES:
                    stack.enter_context(sn_tf.scope("90%", device=device))
                results = [step(x)[1].numpy() for _ in range(3)]
                planned = [plan.device for plan in sn_tf.report()]
            print(json.dumps([
                [bool((r == expected).all()) for r in results], planned,
            ]))
        """)
    )
    assert found == [[True] * 3, ["SIM:0", "SIM:1"]]


def test_settings_must_agree_for_each_device_only(
    results: Callable[[str], Any],
) -> None:
    found = results(
        _START
        + textwrap.dedent("""
            def budgets():
                return [sn_tf.stats(d).budget_bytes for d in DEVICES]
            seen = [budgets()]
            with sn_tf.scope("50MB", device="SIM:0"):
                with sn_tf.scope("60MB", device="SIM:1"):
                    seen.append(budgets())
                    with sn_tf.scope("50MB", device="SIM:0"):
                        seen.append(budgets())
                    try:
                        sn_tf.scope("70MB", device="SIM:1").__enter__()
                    except ValueError as error:
                        seen.append(str(error))
                seen.append(budgets())
            sn_tf.enable("50MB", device="SIM:1")
            sn_tf.enable("40MB", device="SIM:0")
            sn_tf.enable("40MB", device="SIM:0")
            seen.append(budgets())
            sn_tf.disable()
            seen.append(budgets())
            print(json.dumps(seen))
        """)
    )
    both = [50_000_000, 60_000_000]
    assert found[:3] == [[0, 0], both, both]
    assert "for one device at once" in found[3]
    assert found[4:] == [[50_000_000, 0], [40_000_000, 50_000_000], [0, 0]]


def test_a_function_on_two_devices_is_planned_for_both(
    results: Callable[[str], Any],
) -> None:
    found = results(
        _START
        + textwrap.dedent("""
            @tf.function
            def chain(x):
                kept = []
                for device in sn_tf.sim.device_names():
                    with tf.device(device):
                        for _ in range(6):
                            x = tf.sin(x)
                            kept.append(x)
                with tf.device(sn_tf.sim.device_names()[0]):
                    total = x
                    for value in kept[:6]:
                        total = total * value
                with tf.device(sn_tf.sim.device_names()[1]):
                    for value in kept[6:]:
                        total = total * value
                return total

            x = tf.random.stateless_uniform([1 << 20], seed=[1, 2])
            expected = chain(x).numpy()
            with contextlib.ExitStack() as stack:
                for device in DEVICES:
                    stack.enter_context(
                        sn_tf.scope("24MB", device=device)
                    )
                for _ in range(3):
                    chain(x)
                result = chain(x)
            plans = sn_tf.report()
            print(json.dumps([
                bool((result.numpy() == expected).all()),
                [p.device for p in plans],
                [p.swapped_buffers + p.recomputed_ops for p in plans],
                [p.planned_peak_bytes <= 24_000_000 for p in plans],
            ]))
        """)
    )
    alike, devices, moved, fits = found
    assert alike
    assert devices == ["SIM:0", "SIM:1"]
    assert min(moved) > 0
    assert fits == [True, True]
