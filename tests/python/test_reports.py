# SPDX-License-Identifier: Apache-2.0
"""Reports and statistics as plain data."""

from __future__ import annotations

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import sn_tf
from sn_tf.reports import write_reports

_PLAN = sn_tf.PlanReport(
    function="__inference_step_12",
    device="CPU:0",
    feasible=True,
    policy="auto",
    budget_bytes=300_000_000,
    stock_peak_bytes=880_000_000,
    planned_peak_bytes=290_000_000,
    expected_peak_bytes=280_000_000,
    floor_bytes=208_000_000,
    resident_bytes=105_000_000,
    min_budget_bytes=210_000_000,
    limiting_op="conv1/Conv2D",
    added_seconds=0.125,
    recompute_seconds=0.05,
    stall_seconds=0.025,
    step_seconds=1.25,
    costs="measured",
    times="measured",
    generation=1,
    swapped_bytes=64_000_000,
    swapped_buffers=1,
    recomputed_ops=1,
    state_bytes=0,
    state_buffers=0,
    ops=4321,
    plan_seconds=0.05,
    reason="",
    actions=(
        sn_tf.PlanAction("swap", "conv1/Conv2D:0", 64_000_000, "relu", "grad"),
        sn_tf.PlanAction("recompute", "relu:0", 32_000_000, "pool", "grad2"),
    ),
)


def test_json_reads_back_the_same() -> None:
    values = json.loads(_PLAN.to_json())
    assert list(values) == [f.name for f in dataclasses.fields(_PLAN)]
    assert sn_tf.PlanReport.from_dict(values) == _PLAN


def test_markdown_tells_numbers_and_actions() -> None:
    text = _PLAN.to_markdown()
    assert "| planned peak, at most | 290.0 MB |" in text
    assert "| expected peak | 280.0 MB |" in text
    assert "| expected slowdown | 10.0% |" in text
    assert "| ops of the graph | 4321 |" in text
    assert "| swap | `conv1/Conv2D:0` | 64.0 MB | `relu` | `grad` |" in text
    assert "| recompute | `relu:0` | 32.0 MB | `pool` | `grad2` |" in text


def test_summary_is_one_line_with_what_moves() -> None:
    line = _PLAN.summary()
    assert "\n" not in line
    for part in (
        "budget 300.0 MB",
        "stock peak 880.0 MB",
        "planned peak 290.0 MB",
        "slowdown 10.0%",
        "1 buffers (64.0 MB)",
        "recomputes 1 ops",
    ):
        assert part in line


def test_summary_of_an_infeasible_plan_names_the_op() -> None:
    line = dataclasses.replace(_PLAN, feasible=False).summary()
    assert "infeasible" in line
    assert "210.0 MB" in line
    assert "conv1/Conv2D" in line


def test_summary_without_a_plan_gives_the_reason() -> None:
    plan = dataclasses.replace(
        _PLAN, feasible=False, stock_peak_bytes=0, reason="it has a loop"
    )
    assert not plan.is_infeasible
    assert plan.summary() == "__inference_step_12 runs as it is: it has a loop"
    markdown = plan.to_markdown()
    assert "it has a loop" in markdown
    assert "feasible" not in markdown


def test_unknown_step_time_is_no_slowdown() -> None:
    assert dataclasses.replace(_PLAN, step_seconds=0.0).slowdown == 0.0


def test_writes_one_pair_of_files_per_function(tmp_path: Path) -> None:
    other = dataclasses.replace(_PLAN, function="a/b c")
    write_reports([_PLAN, other], str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "__inference_step_12.json",
        "__inference_step_12.md",
        "a_b_c.json",
        "a_b_c.md",
    ]
    written = json.loads((tmp_path / "a_b_c.json").read_text())
    assert sn_tf.PlanReport.from_dict(written) == other


def test_the_infeasible_error_keeps_its_numbers_when_pickled() -> None:
    error = sn_tf.InfeasibleBudgetError(
        budget_bytes=100, min_budget_bytes=250, limiting_op="conv1/Conv2D"
    )
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.budget_bytes, again.min_budget_bytes) == (100, 250)
    assert again.limiting_op == "conv1/Conv2D"
    for part in ("100 bytes", "250 bytes", "conv1/Conv2D"):
        assert part in str(error)


def test_stats_follow_allocations() -> None:
    before = sn_tf.stats().in_use_bytes
    tensor = tf.zeros([1_000_000])
    during = sn_tf.stats()
    assert during.in_use_bytes >= before + 4_000_000
    assert during.peak_bytes >= during.in_use_bytes
    del tensor
    assert sn_tf.stats().in_use_bytes < before + 4_000_000


def test_reset_peak_restarts_at_what_is_in_use() -> None:
    tensor = tf.zeros([1_000_000])
    del tensor
    assert sn_tf.stats().peak_bytes > sn_tf.stats().in_use_bytes
    sn_tf.reset_peak()
    assert sn_tf.stats().peak_bytes == sn_tf.stats().in_use_bytes


@pytest.mark.parametrize("device", ["GPU:0", "SIM:7", "", 5])
def test_only_managed_devices_have_statistics(device: Any) -> None:
    for call in (sn_tf.stats, sn_tf.reset_peak):
        with pytest.raises(ValueError, match="argument `device`"):
            call(device)


def test_stats_of_an_unmanaged_device() -> None:
    with pytest.raises(ValueError, match="TPU:3"):
        sn_tf.stats("TPU:3")
