# SPDX-License-Identifier: Apache-2.0
"""benchmarks.results: what it measures, keeps, calls a miss, and writes."""

import json

import pytest

from benchmarks import WARM_UP_STEPS, readme, results, results_lines
from benchmarks import results_page as page
from benchmarks.results_lines import LINES

_MB = 10**6


def _one(**fields):
    """A training, as `benchmarks.train_step` tells of it."""
    return {
        "mode": "sn",
        "budget_bytes": 500 * _MB,
        "peak_bytes": 500 * _MB,
        "step_peak_bytes": 490 * _MB,
        "planned_peak_bytes": 500 * _MB,
        "expected_peak_bytes": 498 * _MB,
        "floor_bytes": 200 * _MB,
        "resident_bytes": 100 * _MB,
        "min_budget_bytes": 0,
        "costs": "measured",
        "times": "measured",
        "step_seconds": 1.9,
        "added_seconds": 0.05,
        "step_time_s": 2.0,
        "step_times_s": [9.0] * WARM_UP_STEPS + [2.0, 2.0, 2.0],
        "recomputed_ops": 7,
        "swapped_out_bytes_per_step": 50 * _MB,
        "loss": [2.0, 1.0],
        "weights_sha256": "aa",
        "tf_version": "2.21.0",
        "cpus": 2,
        "unknown": "not kept",
    } | fields


_STOCK = _one(
    mode="stock",
    peak_bytes=1000 * _MB,
    step_times_s=[2.0] * (WARM_UP_STEPS + 3),
)
_INFEASIBLE = {
    "mode": "sn",
    "budget_bytes": 350 * _MB,
    "floor_bytes": 200 * _MB,
    "min_budget_bytes": 400 * _MB,
    "error": "InfeasibleBudget",
    "message": "No plan fits",
}


def _record(**fields):
    return results_lines.record(_one(**fields), _STOCK)


def _found(**lines):
    """A network of which the route and `lines` were measured."""
    route = _record(mode="order", budget_bytes=0)
    named = {name.replace("_", "-"): line for name, line in lines.items()}
    return {
        "model": "resnet50",
        "batch": 64,
        "image": 112,
        "depth": None,
        "optimizer": "sgd",
        "steps": 3,
        "lines": {"route": route} | named,
    }


def _found_all(line):
    return _found(**{name.replace("-", "_"): line for name in LINES})


def test_a_record_has_the_median_of_the_ratios_of_the_turns():
    times = [1.0] * WARM_UP_STEPS + [2.0, 6.0, 2.2]
    record = _record(step_times_s=times)
    assert record["of_stock"] == pytest.approx(1.1)
    assert record["stock_peak_bytes"] == 1000 * _MB
    assert "unknown" not in record
    assert "step_times_s" not in record


def test_a_planned_time_is_held_against_the_speed_at_which_ops_were_timed():
    slow = [4.0] * 3
    later = _one(mode="stock", step_time_s=4.0) | {
        "step_times_s": [2.0] * WARM_UP_STEPS + slow
    }
    times = [9.0] * WARM_UP_STEPS + slow
    one = _one(step_time_s=4.0, step_times_s=times)
    record = results_lines.record(one, later)
    assert record["drift"] == 2
    assert results_lines.of_planned_time(record) == pytest.approx(1.95 / 2)


def test_a_stock_training_that_fails_is_no_measurement():
    failed = {"mode": "stock", "error": "ResourceExhausted", "message": "OOM"}
    with pytest.raises(RuntimeError, match="stock: ResourceExhausted: OOM"):
        results_lines.record(_one(), failed)


def test_targets():
    found = _found(host_50=_record())
    assert results_lines.faults("host-50", found) == []
    for fields, problem in (
        ({"peak_bytes": 501 * _MB}, "peak above the budget"),
        ({"weights_sha256": "bb"}, "weights differ"),
        ({"loss": [2.0, 1.5]}, "losses differ"),
        ({"step_peak_bytes": 480 * _MB}, "planned peak 1.038 of the measured"),
        ({"added_seconds": 0.5}, "planned step time 1.200 of the measured"),
    ):
        found = _found(host_50=_record(**fields))
        assert results_lines.faults("host-50", found) == [problem]


@pytest.mark.parametrize("name", LINES)
def test_each_line_has_its_most_step_time(name):
    line = LINES[name]
    for share, problems in ((0.999, 0), (1.001, 1)):
        times = [9.0] * WARM_UP_STEPS + [2.0 * line.most * share] * 3
        slow = _record(step_times_s=times)
        found = _found(**{name.replace("-", "_"): slow})
        assert len(results_lines.faults(name, found)) == problems


def test_shares_that_are_too_near_the_floor_are_left_out():
    near = _record(floor_bytes=340 * _MB, weights_sha256="bb")
    found = _found(host_50=_record(), host_35=near)
    assert results_lines.applies("host-50", found)
    assert not results_lines.applies("host-35", found)
    assert results_lines.faults("host-35", found) == []
    assert results_lines.applies("host-floor", found)


class _Planner:
    """Trains in a budget of at least `least`, and knows so when it has."""

    def __init__(self, least=0, floor=200 * _MB, slow_below=0):
        self.ran = []
        self._least = least
        self._floor = floor
        self._slow_below = slow_below

    def __call__(self, *arguments):
        values = dict(zip(arguments[::2], arguments[1::2], strict=True))
        self.ran.append(values)
        budget = values.get("--budget", 0)
        one = _one(budget_bytes=budget, floor_bytes=self._floor)
        if budget < self._least:
            one = _INFEASIBLE | {"budget_bytes": budget}
        one["min_budget_bytes"] = self._least
        if budget < self._slow_below:
            one["step_times_s"] = [9.0] * (WARM_UP_STEPS + 3)
        return results_lines.record(one, _STOCK)


@pytest.mark.parametrize(
    ("name", "tiers", "budget"),
    [
        ("host-50", "host", 500 * _MB),
        ("none-35", "none", 350 * _MB),
        ("host-floor", "host", 210 * _MB),
    ],
)
def test_budgets(name, tiers, budget):
    train = _Planner()
    results_lines.measure(name, _found(), train)
    assert train.ran == [{"--mode": "sn", "--tiers": tiers, "--budget": budget}]


def test_a_route_that_fails_is_no_measurement():
    failed = results_lines.record(_INFEASIBLE | {"mode": "order"}, _STOCK)
    with pytest.raises(RuntimeError, match="order: InfeasibleBudget"):
        results_lines.measure("route", {"lines": {}}, lambda *_: failed)


def test_the_route_is_without_a_budget():
    train = _Planner()
    results_lines.measure("route", {"lines": {}}, train)
    assert train.ran == [{"--mode": "order"}]


def test_the_budget_follows_a_floor_that_was_measured():
    train = _Planner(floor=300 * _MB)
    line = results_lines.measure("host-floor", _found(), train)
    assert [one["--budget"] for one in train.ran] == [210 * _MB, 315 * _MB]
    assert line["budget_bytes"] == 315 * _MB


@pytest.mark.parametrize(
    ("known", "budgets"),
    [
        # As a plan has told; from below; and from above.
        ({"none_50": _record(min_budget_bytes=250 * _MB)}, [250]),
        ({}, [210, 250]),
        ({"none_50": _record(min_budget_bytes=300 * _MB)}, [300, 250]),
    ],
)
def test_the_smallest_budget_is_what_the_plans_say(known, budgets):
    train = _Planner(least=250 * _MB)
    line = results_lines.measure("none-smallest", _found(**known), train)
    assert [one["--budget"] // _MB for one in train.ran] == budgets
    assert line["budget_bytes"] == 250 * _MB
    assert "error" not in line


def test_the_smallest_budget_is_one_in_which_a_step_may_take_as_long():
    train = _Planner(least=200 * _MB, slow_below=230 * _MB)
    known = {"none_50": _record(min_budget_bytes=200 * _MB)}
    line = results_lines.measure("none-smallest", _found(**known), train)
    assert [one["--budget"] // _MB for one in train.ran] == [200, 216, 233]
    assert line["of_stock"] == 1


def test_the_page_shows_what_was_measured(tmp_path):
    found = _found(
        host_50=_record(),
        host_floor=_record(budget_bytes=210 * _MB, peak_bytes=211 * _MB),
        none_35=results_lines.record(_INFEASIBLE, _STOCK),
    )
    path = tmp_path / "results.md"
    page.write(path, [found])
    text = path.read_text()
    assert text.startswith("# Results\n")
    for row in (
        "| resnet50 | 64 | 112 | 100.0 MB | 1000.0 MB | 9.0 | 200.0 MB | 0.200 "
        "| 2.00 s |",
        "| resnet50 | 1.000 | 1.000 | not measured | 1.000 | not measured | "
        "InfeasibleBudget | not measured |",
        "| resnet50 | 50% | 500.0 MB | 0.500 | 500.0 MB | 1.016 | 2.000 s "
        "| 0.975 | 50.0 MB | 7 | yes | met |",
        "| resnet50 | recomputing, 35% | 350.0 MB | 0.350 | - | - | - | - | - "
        "| - | - | InfeasibleBudget: No plan fits |",
        "| resnet50 | 1.05 of the floor | peak above the budget |",
        "| resnet50 | recomputing, 50% | not measured |",
    ):
        assert row in text.splitlines()
    assert "TensorFlow 2.21.0, 2 CPU cores" in text
    assert "**" not in text


def test_the_page_keeps_what_others_wrote_and_marks_misses(tmp_path):
    path = tmp_path / "results.md"
    path.write_text(f"mine\n{readme.BEGIN}\nold\n{readme.END}\nmine too\n")
    slow = _record(step_times_s=[9.0] * WARM_UP_STEPS + [2.5] * 3)
    page.write(
        path, [_found(**{name.replace("-", "_"): slow for name in LINES})]
    )
    text = path.read_text()
    assert text.startswith("mine\n")
    assert text.endswith("\nmine too\n")
    assert "old" not in text
    assert (
        "| resnet50 | **1.250** | **1.250** | **1.250** | 1.250 | **1.250** "
        "| **1.250** | 1.250 |" in text
    )


def test_a_page_without_misses_says_so():
    found = _found_all(_record())
    assert page.section([found]).endswith("All targets are met.")
    assert page.missed([found]) == []


def _measured(monkeypatch, *arguments):
    """Runs the command with trainings that are made up; which were asked."""
    asked = []

    def train_in_turn(stock, one):
        asked.append(one)
        if "--budget" not in one:
            return _STOCK, _one(mode="order", budget_bytes=0)
        budget = one[one.index("--budget") + 1]
        return _STOCK, _one(budget_bytes=budget, peak_bytes=budget)

    monkeypatch.setattr(results.turns, "train_in_turn", train_in_turn)
    return results.main(arguments), asked


def test_what_is_measured_is_kept(monkeypatch, tmp_path, capsys):
    common = ("--models", "unet", "--folder", str(tmp_path))
    status, asked = _measured(monkeypatch, *common, "--lines", "host-50")
    assert status == 0
    # The route, which the line needs, and the line.
    assert len(asked) == 2
    status, asked = _measured(monkeypatch, *common)
    assert (status, len(asked)) == (0, len(LINES) - 2)
    status, asked = _measured(monkeypatch, *common)
    assert (status, asked) == (0, [])
    assert "All targets are met." in capsys.readouterr().out
    _, asked = _measured(monkeypatch, *common, "--lines", "none-50", "--again")
    assert len(asked) == 1
    _, asked = _measured(monkeypatch, *common, "--batch", "8")
    assert len(asked) == len(LINES)


def test_other_networks_that_are_kept_stay_on_the_page(monkeypatch, tmp_path):
    page_path = tmp_path / "page.md"
    common = ("--folder", str(tmp_path), "--page", str(page_path))
    _measured(monkeypatch, *common, "--models", "unet")
    _measured(monkeypatch, *common, "--models", "vgg16")
    rows = page_path.read_text().splitlines()
    for model in ("unet", "vgg16"):
        assert any(row.startswith(f"| {model} | 50% |") for row in rows)


def test_a_training_without_a_result_does_not_end_the_command(
    monkeypatch, tmp_path, capsys
):
    def train_in_turn(*_):
        raise RuntimeError("killed")

    monkeypatch.setattr(results.turns, "train_in_turn", train_in_turn)
    arguments = ("--models", "unet", "vgg16", "--folder", str(tmp_path))
    assert results.main([*arguments, "--json"]) == 1
    captured = capsys.readouterr()
    assert "vgg16, route: killed" in captured.err
    assert [one["lines"] for one in json.loads(captured.out)] == [{}, {}]
    assert list(tmp_path.iterdir()) == []
