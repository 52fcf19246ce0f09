# SPDX-License-Identifier: Apache-2.0
"""benchmarks.optimality: what it compares, and what it calls a miss."""

import commands
import pytest

from benchmarks import optimality


def _line(**changes):
    return {
        "ratio": 1.0,
        "most_ratio": 1.0,
    } | changes


def test_budgets_lie_between_the_smallest_and_part_of_the_peak():
    assert optimality.budgets_of(100, 200) == [105, 122, 140]
    # Hardly less than the peak is possible.
    assert optimality.budgets_of(180, 200) == [189, 191, 194]


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({}, []),
        ({"ratio": 1.05, "most_ratio": 1.05}, []),
        ({"ratio": 1.06, "most_ratio": 1.1}, ["ratio above 1.05"]),
        (
            {"ratio": 1.01, "most_ratio": 1.1},
            ["ratio of at most 1.05 not proved in time"],
        ),
        ({"ratio": None}, ["no plan of the default policy"]),
    ],
)
def test_faults_are_named(changes, faults):
    assert optimality.faults(_line(**changes)) == faults


def test_hardly_anything_is_compared_as_that():
    assert optimality.ratio_of(3.0, 2.0, least=1.0) == 1.5
    assert optimality.ratio_of(0.5, 0.1, least=1.0) == 1.0
    assert optimality.ratio_of(2.0, 0.0, least=1.0) == 2.0


def test_a_block_is_compared():
    pytest.importorskip("highspy")
    done = commands.run(
        "benchmarks.optimality",
        *("--blocks", "residual", "--tiers", "none", "--json"),
    )
    lines = commands.printed(done)
    assert len(lines) == 3
    # How good the policy is, is for the benchmark to say.
    assert done.returncode == any(line["faults"] for line in lines)
    for line in lines:
        assert line["faults"] == optimality.faults(line)
        assert line["block"] == "residual"
        assert line["bound_s"] <= line["best_added_s"] <= line["auto_added_s"]
        assert 0 < line["best_added_s"] < line["step_s"]
        assert 1 <= line["step_ratio"] <= line["ratio"] <= line["most_ratio"]
    assert optimality.table(lines).count("| residual | none |") == 3
