# SPDX-License-Identifier: Apache-2.0
"""Faults of disks and of programs in the middle of training.

What is promised: a tier that fails is passed over, for the next one or for the
device's own memory, and nobody notices. A buffer that is lost fails its step,
never silently: each weight then is as before the step or as after it, and the
next step can run.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from swapping import (
    BUFFER_BYTES,
    MOST_STEPS,
    START,
    Net,
    budget,
    equal,
    there_and_back,
    wait_until,
    weights_after,
)

import sn_tf

_Disk = Callable[[str], Path]

# All that can leave does, at once, which leaves room for three buffers that do
# not; without any swapping the steps do not fit.
_EAGER = {"tiers": "file", "policy": "vdnn_all", "cache": "off"}
_TIGHT = 0.8


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Disk:
    """Makes a folder for swap files in which `faults` happen."""

    def make(faults: str) -> Path:
        # Read when the tier is made, which is once for each folder.
        monkeypatch.setenv("SN_TF_FAULT", faults)
        return tmp_path

    return make


def test_a_bad_checksum_variable_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SN_TF_CHECKSUMS", "on")
    # Tiers are made once for each list.
    with pytest.raises(
        ValueError, match=r"SN_TF_CHECKSUMS must be 0 or 1.*Received: 'on'"
    ):
        sn_tf.enable("1GB", tiers="host:1234567kB")


def _tier(folder: Path, name: str = "file") -> sn_tf.TierStats:
    """That of the pool with files in `folder`."""
    tiers = sn_tf.stats().tiers
    at = [tier.folder for tier in tiers].index(str(folder))
    # A pool's tiers stand together; these tests have the file first.
    return next(tier for tier in tiers[at:] if tier.name == name)


def _scope(folder: Path, share: float = _TIGHT, **options: Any) -> Any:
    return sn_tf.scope(budget(share), swap_dir=folder, **{**_EAGER, **options})


def _train(net: Net, steps: int = MOST_STEPS) -> None:
    for _ in range(steps):
        net.step()


def _train_through_losses(net: Net) -> int:
    """Trains; repeats each step that lost a buffer. How many those were."""
    losses = 0
    for step in range(MOST_STEPS):
        while True:
            try:
                net.step()
                break
            except tf.errors.DataLossError as error:
                losses += 1
                assert losses <= 5, error
                _check_lost_step(net, step, error)
                net.set_weights(weights_after(step))
    return losses


def _check_lost_step(net: Net, step: int, error: tf.errors.OpError) -> None:
    name = re.search(r"Buffer (\S+) is lost", error.message)
    assert name is not None, error.message
    planned = [plan.actions for plan in sn_tf.report()]
    assert name[1] in {action.buffer for action in planned[0]}
    before, after = weights_after(step), weights_after(step + 1)
    for now, old, new in zip(net.weights(), before, after, strict=True):
        assert np.array_equal(now, old) or np.array_equal(now, new)


@pytest.mark.parametrize(
    ("faults", "count"),
    [
        ("read_eio:1", 1),
        ("read_eio:7", 1),
        ("corrupt:2", 1),
        ("end_of_file:3", 1),
        ("short_read:1,short_write:2", 0),
    ],
)
def test_a_fault_that_passes_is_healed(
    disk: _Disk, faults: str, count: int
) -> None:
    net, reference = Net(), weights_after(MOST_STEPS)
    folder = disk(faults)
    with _scope(folder):
        _train(net)
    assert equal(net.weights(), reference)
    assert _tier(folder).faults == count
    assert not _tier(folder).broken
    assert _tier(folder).in_bytes > 7 * BUFFER_BYTES


@pytest.mark.parametrize(
    ("faults", "count"),
    [
        ("write_eio:1", 1),
        ("write_eio:5", 1),
        ("write_eio:5+", 3),
        ("disk_full:1", 0),
        (f"disk_full:{2 * BUFFER_BYTES}", 0),
    ],
)
def test_what_one_tier_does_not_take_goes_to_the_next(
    disk: _Disk, faults: str, count: int
) -> None:
    net, reference = Net(), weights_after(MOST_STEPS)
    folder = disk(faults)
    with _scope(folder, tiers="file,host"):
        _train(net)
    assert equal(net.weights(), reference)
    # More were under way when the third had failed, maybe.
    assert _tier(folder).faults == count or 3 == count < _tier(folder).faults
    assert _tier(folder).broken == (count == 3)
    if count != 1:  # One may be of a buffer that is wanted back meanwhile.
        assert _tier(folder, "host").out_bytes >= BUFFER_BYTES
    wait_until(lambda: _tier(folder, "host").stored_bytes == 0)


@pytest.mark.parametrize("write", [3, 20])
def test_a_buffer_that_no_tier_takes_stays_where_it_is(
    disk: _Disk, write: int
) -> None:
    net, reference = Net(), weights_after(MOST_STEPS)
    folder = disk(f"write_eio:{write}")
    with _scope(folder):
        _train(net)
    assert equal(net.weights(), reference)
    assert _tier(folder).faults == 1
    assert not _tier(folder).broken


@pytest.mark.parametrize(
    ("faults", "broken"), [("write_eio:1+", True), ("disk_full:1", False)]
)
def test_what_no_tier_takes_comes_back_from_where_it_is(
    disk: _Disk, faults: str, broken: bool
) -> None:
    folder = disk(faults)

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        return there_and_back(x * 1.0, tiers="file", swap_dir=str(folder))

    for number in range(5):
        values = np.full(100_000, number, np.float32)
        assert np.array_equal(step(tf.constant(values)), values)
    assert _tier(folder).faults == (3 if broken else 0)
    assert _tier(folder).broken == broken
    assert _tier(folder).out_bytes == 0


@pytest.mark.parametrize("faults", ["write_eio:1+", "disk_full:1"])
def test_without_room_anywhere_the_step_fails_and_changes_nothing(
    disk: _Disk, faults: str
) -> None:
    net, reference = Net(), weights_after(MOST_STEPS)
    folder = disk(faults)
    with pytest.raises(sn_tf.InfeasibleBudgetError), _scope(folder):
        for _ in range(2):
            with pytest.raises(tf.errors.ResourceExhaustedError):
                net.step()
            assert equal(net.weights(), weights_after(0))
        net.step()
    assert equal(net.weights(), weights_after(0))
    with sn_tf.scope("8GB", policy="liveness"):
        _train(net)
    assert equal(net.weights(), reference)


@pytest.mark.parametrize("write", [1, 6, 11, 17])
def test_a_buffer_corrupted_on_the_disk_is_not_used(
    disk: _Disk, write: int
) -> None:
    net, reference = Net(), weights_after(MOST_STEPS)
    folder = disk(f"corrupt_write:{write}")
    with _scope(folder):
        losses = _train_through_losses(net)
    assert equal(net.weights(), reference)
    # None where it was wanted back before it had left.
    assert losses <= 1
    # Each reading is tried twice: of who prefetches, and of who needs it.
    assert 2 * losses <= _tier(folder).faults <= 4 * losses
    wait_until(lambda: _tier(folder).taken_bytes == 0)


@pytest.mark.parametrize(
    "faults",
    [
        "read_eio:9+",
        "end_of_file:1+",
        "corrupt:5+",
        "corrupt_write:5+",
        # The disk is gone.
        "read_eio:1+,write_eio:6+",
    ],
)
def test_a_disk_that_gives_nothing_back_is_given_up(
    disk: _Disk, faults: str
) -> None:
    net, reference = Net(), weights_after(MOST_STEPS)
    folder = disk(faults)
    with _scope(folder, tiers="file,host"):
        # Each loss is two faults in a row, and three are the most.
        assert 1 <= _train_through_losses(net) <= 2
    assert equal(net.weights(), reference)
    assert _tier(folder).broken
    assert _tier(folder, "host").out_bytes > 0
    wait_until(lambda: _tier(folder).taken_bytes == 0)


def test_the_folder_of_a_tier_may_vanish(tmp_path: Path) -> None:
    net, reference = Net(), weights_after(MOST_STEPS)
    folder = tmp_path / "swap"
    folder.mkdir()
    with _scope(folder):
        _train(net, 2)
        folder.rmdir()  # Empty: its file has no name.
        _train(net, MOST_STEPS - 2)
    assert equal(net.weights(), reference)
    assert _tier(folder).faults == 0


def test_training_goes_on_after_an_error_in_a_step(tmp_path: Path) -> None:
    net, reference = Net(), weights_after(MOST_STEPS)
    in_use = []
    with _scope(tmp_path):
        for step in range(MOST_STEPS):
            net.factor.assign(np.nan)
            out_bytes = _tier(tmp_path).out_bytes
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="made to fail"
            ):
                net.step()
            assert equal(net.weights(), weights_after(step))
            if step > 0:
                assert _tier(tmp_path).out_bytes > out_bytes
            net.factor.assign(1.0)
            net.step()
            assert equal(net.weights(), weights_after(step + 1))
            wait_until(lambda: _tier(tmp_path).taken_bytes == 0)
            in_use.append(sn_tf.stats().in_use_bytes)
    assert equal(net.weights(), reference)
    # Nothing is lost; a plan made anew has some small constants of its own.
    assert max(in_use[2:]) - min(in_use[2:]) < BUFFER_BYTES // 16


def test_two_trainings_in_two_threads_share_a_budget(tmp_path: Path) -> None:
    nets = Net(1), Net(2)
    references = [weights_after(MOST_STEPS, seed) for seed in (1, 2)]
    # Less than both keep at once, if nothing leaves.
    most = budget(1.5)
    sn_tf.reset_peak()
    failed: list[BaseException] = []

    def train(net: Net) -> None:
        try:
            with sn_tf.scope(
                most, tiers="file", swap_dir=tmp_path, policy="vdnn_all"
            ):
                _train(net)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=train, args=(net,)) for net in nets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    for net, reference in zip(nets, references, strict=True):
        assert equal(net.weights(), reference)
    assert sn_tf.stats().peak_bytes <= most
    assert sn_tf.stats().budget_bytes == 0
    wait_until(lambda: _tier(tmp_path).taken_bytes == 0)


def _resident_kib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmRSS:\s*(\d+)", status)[1])  # type: ignore[index]


def test_a_thousand_steps_take_no_more_memory_than_ten(tmp_path: Path) -> None:
    net = Net()
    with _scope(tmp_path, 0.7, policy="swap", cache="on"):
        _train(net, 10)
        wait_until(lambda: _tier(tmp_path).taken_bytes == 0)
        in_use = sn_tf.stats().in_use_bytes
        _train(net, 90)
        resident = _resident_kib()
        _train(net, 900)
        grown = _resident_kib() - resident
        wait_until(lambda: _tier(tmp_path).taken_bytes == 0)
        assert sn_tf.stats().in_use_bytes == in_use
    assert _tier(tmp_path).out_bytes > 1000 * BUFFER_BYTES
    # One buffer a step would be 230,400.
    assert grown < 20_000


_FOREVER = (
    START
    + """
net = Net()
with sn_tf.scope(
    budget(0.6), policy="swap", tiers="file", swap_dir=sys.argv[1]
):
    while True:
        net.step()
        print(json.dumps(swapped()), flush=True)
"""
)


def test_sigkill_leaves_no_file(
    start_python: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    with start_python(_FOREVER, str(tmp_path)) as process:
        assert process.stdout is not None
        while json.loads(process.stdout.readline()) == 0:
            pass
        assert list(tmp_path.iterdir()) == []
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []
