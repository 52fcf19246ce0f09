# SPDX-License-Identifier: Apache-2.0
"""Planning on the simulated device: what moves, and what then fits."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

from programs import START

_PLAN = (
    START
    + """
tf.config.threading.set_inter_op_parallelism_threads(1)

def convolutions(model):
    for filters in (32, 32, 64, 64):
        model.add(layers.Conv2D(filters, 3, padding="same"))
        model.add(layers.BatchNormalization())
        model.add(layers.ReLU())

def many_layers(model):
    for _ in range(30):
        model.add(layers.Dense(32, activation="tanh"))

def train(device, scope, steps=4, body=convolutions):
    set_out()
    x = np.random.rand(32, 32, 32, 3).astype("float32")
    y = np.random.rand(32, 10).astype("float32")
    with tf.device(f"/device:{device}"), scope:
        model = keras.Sequential([layers.Input((32, 32, 3))])
        body(model)
        model.add(layers.GlobalAveragePooling2D())
        model.add(layers.Dense(10))
        model.compile(keras.optimizers.Adam(0.01), "mse")
        sn_tf.reset_peak("SIM:0")
        _, copied = train_and_count(model, x, y, steps)
        peak = sn_tf.stats("SIM:0").peak_bytes
    return hexadecimal(model), copied, x.nbytes + y.nbytes, peak

def order(device):
    return sn_tf.scope("1GB", policy="liveness", device=device)
"""
)


def _assert_the_link_carries_the_plan(
    copied: list[list[int]], input_bytes: int, swapped_bytes: int
) -> None:
    loss_bytes = 4
    for step in copied:
        assert step == [input_bytes + swapped_bytes, loss_bytes + swapped_bytes]


def test_planning_there_moves_what_the_plan_says(
    results: Callable[[str], Any],
) -> None:
    found = results(
        _PLAN
        + textwrap.dedent("""
            sn_tf.sim.configure("1GB", link="unlimited")
            weights, *_ = train("CPU:0", order("CPU:0"))
            ordered, *_ = train("SIM:0", order("SIM:0"))
            tight = sn_tf.scope("60MB", device="SIM:0")
            planned, copied, input_bytes, peak = train("SIM:0", tight)
            (plan,) = sn_tf.report()
            print(json.dumps([
                ordered == weights, planned == weights, copied[2:],
                input_bytes, plan.swapped_bytes, peak,
            ]))
        """)
    )
    ordered_alike, planned_alike, copied, input_bytes, swapped, peak = found
    assert ordered_alike
    assert planned_alike
    assert peak <= 60_000_000
    assert swapped > 0
    _assert_the_link_carries_the_plan(copied, input_bytes, swapped)


def test_training_in_a_third_of_what_stock_needs(
    results: Callable[[str], Any],
) -> None:
    program = _PLAN + textwrap.dedent("""
            sn_tf.sim.configure(MEMORY, link="unlimited")
            _, _, _, peak = train("SIM:0", contextlib.nullcontext(),
                                  body=many_layers)
            print(json.dumps(peak))
        """)
    needed = results(program.replace("MEMORY", "'1GB'"))
    memory = needed // 3
    found = results(
        _PLAN
        + textwrap.dedent("""
            sn_tf.sim.configure(MEMORY, link="unlimited")
            weights, *_ = train("CPU:0", order("CPU:0"), body=many_layers)
            try:
                train("SIM:0", contextlib.nullcontext(), body=many_layers)
                stock = ""
            except tf.errors.ResourceExhaustedError as error:
                stock = error.message
            planned, copied, input_bytes, peak = train(
                "SIM:0", sn_tf.scope("auto", device="SIM:0"), body=many_layers
            )
            (plan,) = sn_tf.report()
            print(json.dumps([
                stock, planned == weights, copied[2:], input_bytes,
                plan.swapped_bytes, peak,
            ]))
        """).replace("MEMORY", str(memory))
    )
    stock, alike, copied, input_bytes, swapped, peak = found
    assert "device:SIM:0 by allocator SIM_0_bfc" in stock
    assert alike
    assert peak <= memory
    _assert_the_link_carries_the_plan(copied, input_bytes, swapped)


def test_a_refused_onednn_kernel_ends_the_step_only(
    results: Callable[[str], Any],
) -> None:
    message = results(
        _PLAN
        + textwrap.dedent("""
            sn_tf.sim.configure("40MB", link="unlimited")
            try:
                train("SIM:0", contextlib.nullcontext())
                message = ""
            except tf.errors.ResourceExhaustedError as error:
                message = error.message
            print(json.dumps(message))
        """)
    )
    assert "OOM when allocating" in message
    assert "device:SIM:0 by allocator SIM_0_bfc" in message


def test_a_step_that_runs_elsewhere_is_told(
    results: Callable[[str], Any],
) -> None:
    lines = results(
        _PLAN
        + textwrap.dedent("""
            import logging
            sn_tf.sim.configure("64MB", link="unlimited")
            lines = []
            handler = logging.Handler()
            handler.emit = lambda record: lines.append(record.getMessage())
            logging.getLogger("sn_tf").addHandler(handler)
            with sn_tf.sim.scope():
                model = keras.Sequential([layers.Input((4,)), layers.Dense(2)])
            model.compile("sgd", "mse")
            model.fit(
                np.zeros((8, 4)), np.zeros((8, 2)), batch_size=2, verbose=0,
                callbacks=[sn_tf.MemoryBudget("50%", device="SIM:0")],
            )
            print(json.dumps(lines))
        """)
    )
    (line,) = [line for line in lines if "nothing is planned" in line]
    assert "on SIM:0" in line
    assert 'tf.device("/device:SIM:0")' in line
