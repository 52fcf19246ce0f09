# SPDX-License-Identifier: Apache-2.0
"""benchmarks.budgets: what it plans, trains, and calls a miss."""

import commands
import pytest

from benchmarks import budgets


def _line(**changes):
    return {
        "holds": True,
        "budget_bytes": 500,
        "added_s": 1.0,
        "fastest_before_s": 1.0,
        "peak_bytes": 500,
        "same": True,
    } | changes


def test_budgets_lie_between_the_smallest_and_the_peak():
    assert budgets.budgets_of(100, 142, 3) == [102, 122, 142]
    assert budgets.budgets_of(100, 101, 2) == [101, 101]


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({}, []),
        ({"fastest_before_s": None}, []),
        ({"holds": False}, ["no plan"]),
        ({"fastest_before_s": 0.9}, ["slower than in a smaller budget"]),
        ({"peak_bytes": 501}, ["budget passed"]),
        ({"same": False}, ["weights differ"]),
        ({"error": "InfeasibleBudget: no"}, ["InfeasibleBudget: no"]),
        ({"peak_bytes": None}, []),
    ],
)
def test_faults_are_named(changes, faults):
    assert budgets.faults(_line(**changes)) == faults


def test_a_network_is_planned_and_trained_inside_each_budget():
    done = commands.run(
        "benchmarks.budgets",
        *("--models", "resnet", "--depth", 11, "--image", 32, "--batch", 8),
        *("--tiers", "none", "--budgets", 2, "--json"),
    )
    small, large = commands.printed(done)
    assert done.returncode == bool(small["faults"] or large["faults"])
    assert small["same"] and large["same"]
    assert small["budget_bytes"] < large["budget_bytes"]
    assert small["peak_bytes"] <= small["budget_bytes"]
    assert small["added_s"] > large["added_s"] == 0
    assert large["fastest_before_s"] == small["added_s"]
    assert budgets.table([small, large]).count("| resnet | none |") == 2
