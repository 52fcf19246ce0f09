# SPDX-License-Identifier: Apache-2.0
"""The simulated device: its memory, its copies, its kernels."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from programs import START

import sn_tf

_TRAIN = (
    START
    + """
tf.config.threading.set_inter_op_parallelism_threads(1)

def image_model():
    return keras.Sequential([
        layers.Input((16, 16, 3)), layers.Conv2D(8, 3),
        layers.BatchNormalization(), layers.ReLU(), layers.MaxPooling2D(),
        layers.Conv2D(16, 3, activation="relu"), layers.Flatten(),
        layers.Dense(10),
    ]), np.random.rand(8, 16, 16, 3).astype("float32")

def text_model():
    return keras.Sequential([
        layers.Input((6,), dtype="int32"), layers.Embedding(50, 8),
        layers.LSTM(8, return_sequences=True), layers.GRU(8),
        layers.Dropout(0.5), layers.Dense(10),
    ]), np.random.randint(0, 50, (8, 6)).astype("int32")

def train(device, make, steps=3):
    set_out()
    with tf.device(f"/device:{device}"):
        model, x = make()
        y = np.random.rand(8, 10).astype("float32")
        model.compile(keras.optimizers.Adam(0.01), "mse")
        _, copied = train_and_count(model, x, y, steps)
    return {
        "device": model.weights[0].value.device[-5:],
        "weights": hexadecimal(model),
        "copied": copied,
        "input_bytes": x.nbytes + y.nbytes,
    }

sn_tf.sim.configure("256MB", link="unlimited")
"""
)


@pytest.mark.parametrize("make", ["image_model", "text_model"])
def test_training_there_gives_the_bits_of_the_cpu(
    results: Callable[[str], Any], make: str
) -> None:
    cpu, sim = results(
        _TRAIN
        + f'print(json.dumps([train("CPU:0", {make}), train("SIM:0", {make})]))'
    )
    assert (cpu["device"], sim["device"]) == ("CPU:0", "SIM:0")
    assert cpu["weights"] == sim["weights"]
    assert cpu["copied"] == [[0, 0]] * 3


def test_a_step_copies_the_batch_and_the_loss(
    results: Callable[[str], Any],
) -> None:
    sim = results(_TRAIN + 'print(json.dumps(train("SIM:0", image_model)))')
    loss_bytes = 4
    assert sim["copied"][1:] == [[sim["input_bytes"], loss_bytes]] * 2


def test_memory_is_the_devices_own_and_ends(
    results: Callable[[str], Any],
) -> None:
    found = results(
        _TRAIN
        + textwrap.dedent("""
            cpu = sn_tf.stats().in_use_bytes
            with sn_tf.sim.scope():
                kept = tf.Variable(tf.ones([1000, 1000]))
                stats = sn_tf.stats("SIM:0")
                try:
                    tf.zeros([10000, 10000])
                except tf.errors.ResourceExhaustedError as error:
                    message = error.message
            print(json.dumps([
                stats.in_use_bytes, sn_tf.stats().in_use_bytes - cpu, message,
            ]))
        """)
    )
    on_sim, on_cpu, message = found
    assert 4_000_000 <= on_sim < 4_100_000
    assert on_cpu < 100_000
    assert (
        "OOM when allocating tensor with shape[10000,10000] and type float on "
        "/job:localhost/replica:0/task:0/device:SIM:0 by allocator SIM_0_bfc"
    ) in message


def test_a_copy_that_does_not_fit_is_an_error(
    results: Callable[[str], Any],
) -> None:
    messages = results(
        START
        + textwrap.dedent("""
            sn_tf.sim.configure("10MB")
            array = np.zeros(5_000_000, "f4")
            on_cpu = tf.constant(array)
            messages = []
            for make in (
                lambda: tf.constant(array),
                lambda: tf.Variable(array),
                lambda: tf.identity(on_cpu),
            ):
                try:
                    with sn_tf.sim.scope():
                        make()
                except tf.errors.ResourceExhaustedError as error:
                    messages.append(error.message)
            print(json.dumps(messages))
        """)
    )
    assert len(messages) == 3
    for message in messages:
        assert "OOM when allocating tensor of shape [5000000]" in message
        assert "device:SIM:0" in message


def test_values_travel_between_devices(results: Callable[[str], Any]) -> None:
    found = results(
        START
        + textwrap.dedent("""
            sn_tf.sim.configure("64MB", link="unlimited", count=2)
            value = tf.range(1000.0)
            with sn_tf.sim.scope():
                first = value + 1
            with sn_tf.sim.scope(1):
                second = first + 1
            links = [sn_tf.stats(f"SIM:{i}").link for i in range(2)]
            print(json.dumps([
                first.device[-5:], second.device[-5:],
                bool((second.numpy() == np.arange(2.0, 1002.0)).all()),
                links[0].to_host_bytes,
                [d.name for d in tf.config.list_logical_devices("SIM")],
            ]))
        """)
    )
    assert found == [
        "SIM:0",
        "SIM:1",
        True,
        4000,
        ["/device:SIM:0", "/device:SIM:1"],
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("'4 potatoes'", "memory='4 potatoes'"),
        ("0", "memory=0"),
        ("'60%'", "memory='60%'"),
        ("'900TB'", "part of this machine's"),
        ("'1GB', link='pcie9'", "link='pcie9'"),
        ("'1GB', link='pcie4/0'", "link='pcie4/0'. Expected one of pcie3"),
        ("'1GB', link='pcie4/1.5'", "such as 'pcie4/16'"),
        ("'1GB', link='unlimited/2'", "link='unlimited/2'"),
        ("'1GB', link='800Mb/s'", "such as '800MB/s'"),
        ("'1GB', link='800MB'", "link='800MB'"),
        ("'1GB', link='1B/s'", "from 1 kB/s to 1000 TB/s"),
        ("'1GB', link=''", "link=''"),
        ("'1GB', link=3", "link=3"),
        (r"'1GB', link='pcie3\0x'", "link='pcie3"),
        (r"'1GB', link='pcie3\udc80'", "link='pcie3"),
        ("'1GB', link=2e9", "such as '800MB/s'"),
        ("'1GB', count=0", "count=0"),
        ("'1GB', count=1.5", "count=1.5"),
        ("'1GB', count=10**30", "count=1000000000000000000000000000000"),
        ("'1GB', count=True", "count=True"),
    ],
)
def test_bad_arguments_are_refused(arguments: str, told: str) -> None:
    with pytest.raises(ValueError, match="Invalid value for argument") as error:
        eval(f"sn_tf.sim.configure({arguments})")
    assert told in str(error.value)
    assert sn_tf.sim.device_count() == 0


@pytest.mark.parametrize(
    ("link", "bytes_per_s"),
    # Sixteen lanes of 16 GT/s, 128 bits in 130, 85% of them payload.
    [("800MB/s", 800e6), ("pcie4/16", 16e9 * 2 * 128 / 130 * 0.85 / 16)],
)
def test_a_link_of_ones_own(
    results: Callable[[str], Any], link: str, bytes_per_s: float
) -> None:
    found = results(
        START
        + textwrap.dedent(f"""
            import dataclasses
            sn_tf.sim.configure("64MB", link={link!r})
            value = tf.ones([4_000_000])
            before = sn_tf.stats("SIM:0").link
            with sn_tf.sim.scope():
                tf.identity(value)
            link = sn_tf.stats("SIM:0").link.since(before)
            print(json.dumps(dataclasses.asdict(link)))
        """)
    )
    assert found["name"] == link
    assert found["bandwidth_bytes_per_s"] == pytest.approx(bytes_per_s)
    assert found["to_device_bytes"] == 16_000_000
    # Memory that is not pinned; and nothing was computed meanwhile.
    least = 16_000_000 / (bytes_per_s / 2)
    modelled = found["to_device_modelled_seconds"]
    assert least < modelled <= found["to_device_seconds"]
    assert found["to_host_modelled_seconds"] == 0
    assert least <= found["stall_seconds"] <= found["elapsed_seconds"]


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(ValueError, match=r"call sn_tf\.sim\.configure"):
        sn_tf.sim.scope()
    with pytest.raises(ValueError, match=r"call sn_tf\.sim\.configure"):
        sn_tf.stats("SIM:0")
    with pytest.raises(ValueError, match=r"call sn_tf\.sim\.configure"):
        sn_tf.sim.device_names()
    for index in (0.5, "0", None):
        with pytest.raises(ValueError, match="There is no device"):
            sn_tf.sim.scope(index)  # type: ignore[arg-type]


def test_devices_are_made_once(results: Callable[[str], Any]) -> None:
    found = results(
        START
        + textwrap.dedent("""
            messages = []
            def attempt(*args, **kwargs):
                try:
                    sn_tf.sim.configure(*args, **kwargs)
                    messages.append("")
                except ValueError as error:
                    messages.append(str(error))
            attempt("64MB")
            assert len({
                sn_tf.stats(name).budget_bytes for name in (
                    "SIM:0", "sim", "/device:SIM:0", "/SIM:0",
                    "/job:localhost/replica:0/task:0/device:SIM:0",
                )
            }) == 1
            attempt("64MB", link="pcie3", count=1)
            attempt("65MB")
            tf.zeros([2])
            attempt("64MB")
            try:
                sn_tf.sim.scope(1)
            except ValueError as error:
                messages.append(str(error))
            print(json.dumps(messages))
        """)
    )
    assert found[:2] == ["", ""]
    assert "configured already: 1 x 64.0 MB, link pcie3" in found[2]
    assert found[3] == ""
    assert "no device SIM:1" in found[4]


def test_too_late(results: Callable[[str], Any]) -> None:
    message = results(
        START
        + textwrap.dedent("""
            tf.zeros([2])
            try:
                sn_tf.sim.configure("64MB")
            except ValueError as error:
                print(json.dumps(str(error)))
        """)
    )
    assert "TensorFlow has made its devices" in message


def test_an_op_without_a_kernel(results: Callable[[str], Any]) -> None:
    message = results(
        START
        + textwrap.dedent("""
            sn_tf.sim.configure("64MB")
            tf.config.set_soft_device_placement(False)
            try:
                with sn_tf.sim.scope():
                    tf.raw_ops.NcclAllReduce(
                        input=tf.zeros([2]), reduction="sum", num_devices=1,
                        shared_name="",
                    )
            except tf.errors.OpError as error:
                print(json.dumps(error.message))
        """)
    )
    assert "kernel" in message and "NcclAllReduce" in message
