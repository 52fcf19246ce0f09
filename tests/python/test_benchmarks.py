# SPDX-License-Identifier: Apache-2.0
"""benchmarks/: the contract of train_step, and what is computed from it."""

import types

import commands
import pytest

import sn_tf
from benchmarks import (
    WARM_UP_STEPS,
    child,
    compare,
    compression,
    demo,
    long_run,
    readme,
    train_step,
    turns,
)

_RESNET = (
    *("--model", "resnet", "--depth", "20", "--image", "32"),
    *("--batch", "16", "--steps", "1"),
)
_FIELDS = [
    "model",
    "batch",
    "image",
    "dtype",
    "optimizer",
    "mode",
    "policy",
    "tiers",
    "budget_bytes",
    "step_time_s",
    "peak_bytes",
    "resident_bytes",
    "floor_bytes",
    "planned_peak_bytes",
    "feasible",
    "loss",
    "weights_sha256",
    "swapped_out_bytes_per_step",
    "recomputed_ops",
    "plan_time_s",
    "rss_peak_bytes",
    "tf_version",
]


def _measure(*arguments):
    result = child.train_step(*arguments, quiet=True)
    assert "error" not in result, result
    return result


@pytest.fixture(scope="module")
def stock():
    return _measure(*_RESNET, "--mode", "stock")


@pytest.fixture(scope="module")
def order():
    return _measure(*_RESNET, "--mode", "order")


def _budget(stock, order):
    return compression.budget_for(stock["peak_bytes"], order["floor_bytes"])


def _assert_same_bits(ours, reference):
    for field in ("loss", "val_loss", "weights_sha256"):
        assert ours[field] == reference[field]


def test_stock_is_measured(stock):
    assert set(_FIELDS) <= set(stock)
    assert stock["mode"] == "stock"
    assert stock["budget_bytes"] == 0
    assert stock["peak_bytes"] > stock["resident_bytes"] > 0
    assert stock["rss_peak_bytes"] > stock["peak_bytes"]
    assert stock["swapped_out_bytes_per_step"] == 0
    assert stock["floor_bytes"] is None
    assert len(stock["loss"]) == WARM_UP_STEPS + 1
    assert stock["loss"][-1] < stock["loss"][0]


def test_a_budget_gives_the_weights_of_the_route_alone(stock, order):
    budget = _budget(stock, order)
    planned = _measure(*_RESNET, "--mode", "sn", "--budget", budget)
    assert budget < order["peak_bytes"]
    _assert_same_bits(planned, order)
    assert planned["feasible"]
    assert planned["peak_bytes"] <= budget == planned["budget_bytes"]
    assert planned["recomputed_ops"] or planned["swapped_out_bytes_per_step"]


def test_a_network_of_keras_2_draws_the_same_inside_a_budget():
    network = ("--model", "bayesian", "--image", "32", "--steps", "1")
    free = _measure(*network, "--mode", "order")
    budget = _budget(free, free)
    planned = _measure(*network, "--mode", "sn", "--budget", budget)
    assert budget < free["peak_bytes"]
    assert planned["peak_bytes"] <= budget
    _assert_same_bits(planned, free)
    assert planned["recomputed_ops"] or planned["swapped_out_bytes_per_step"]


def test_stock_inside_the_budget_runs_out_of_memory(stock, order):
    budget = _budget(stock, order)
    done = commands.run(
        "benchmarks.train_step",
        *(*_RESNET, "--mode", "stock-limited", "--budget", budget, "--json"),
    )
    assert done.returncode == train_step.EXHAUSTED, done.stderr[-2000:]
    result = commands.printed(done)
    assert result["error"] == "ResourceExhausted"
    assert "OOM when allocating" in result["message"]
    assert "\n" not in result["message"]


def test_fit_keeps_the_budget_and_the_weights():
    fit = (*_RESNET, "--fit", "--samples", "40")
    free = _measure(*fit, "--mode", "order")
    budget = int(max(0.6 * free["peak_bytes"], 1.15 * free["floor_bytes"]))
    planned = _measure(*fit, "--mode", "sn", "--budget", budget)
    assert planned["peak_bytes"] <= budget < free["peak_bytes"]
    _assert_same_bits(planned, free)


def test_nothing_stays_behind(stock, order):
    done = commands.run(
        "benchmarks.long_run",
        *(*_RESNET[:-1], 12, "--mode", "sn"),
        *("--budget", _budget(stock, order), "--json"),
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    found = commands.printed(done)
    assert found["steps"] == 12
    assert found["loss_last"] < found["loss_first"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--mode", "sn"), "--mode sn needs a --budget"),
        (("--mode", "stock", "--budget", "1GB"), "Received: --budget 1GB"),
        (("--mode", "stock", "--tiers", "none"), "for --mode sn only"),
        (("--mode", "stock", "--steps", "0"), "--steps must be at least 1"),
        (
            ("--mode", "stock", "--model", "bayesian", "--fit"),
            "--fit is for networks of Keras 3",
        ),
    ],
)
def test_bad_command_lines_are_refused(arguments, message):
    done = commands.run("benchmarks.train_step", "--model", "mlp", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_compare_splits_its_command_line():
    a, b, options = compare.parse(
        ["--model", "mlp", "--rounds", "2", "--", "--mode", "sn", "--json"]
    )
    assert a == ["--model", "mlp"]
    assert b == ["--mode", "sn"]
    assert options.rounds == 2
    assert options.json


@pytest.mark.parametrize("argv", [[], ["--model", "mlp"], ["--", "--mode"]])
def test_compare_needs_two_command_lines(argv, capsys):
    with pytest.raises(SystemExit):
        compare.parse(argv)
    assert "two command lines" in capsys.readouterr().err


def _measured(step_time_s, peak_bytes, sha="aa"):
    warm_up = [100.0] * WARM_UP_STEPS
    return {
        "step_time_s": step_time_s,
        "step_times_s": [*warm_up, step_time_s, 2 * step_time_s, step_time_s],
        "peak_bytes": peak_bytes,
        "weights_sha256": sha,
    }


def test_compare_gives_medians_of_ratios_and_their_range():
    a = [_measured(2.0, 50), _measured(9.0, 50), _measured(3.0, 40)]
    b = [_measured(2.0, 100), _measured(2.0, 100), _measured(1.0, 100)]
    found = compare.compare(a, b)
    assert found["step_time_s"]["ratio"] == 3.0
    assert found["step_time_s"]["ratio_min"] == 1.0
    assert found["step_time_s"]["ratio_max"] == 4.5
    assert found["peak_bytes"]["ratio"] == 0.5
    assert found["same_weights"]
    assert "3.000  (rounds: 1.000 to 4.500)" in compare.summary(found)
    assert not compare.compare(a, [_measured(1, 1, "bb")] * 3)["same_weights"]


def test_compare_runs_the_sides_in_turn(monkeypatch):
    ran = []

    def record(*commands):
        ran.extend(command[0] for command in commands)
        return [_measured(1.0, 1), _measured(2.0, 1)]

    monkeypatch.setattr(turns, "train_in_turn", record)
    a, b = compare.measure(["A"], ["B"], 3)
    assert ran == ["A", "B"] * 3
    assert len(a) == len(b) == 3


def test_people_are_told_all_of_memory_that_ran_out(monkeypatch):
    options = types.SimpleNamespace(device="sim")
    failure = {"error": "ResourceExhausted", "message": "OOM"}
    monkeypatch.setattr(sn_tf, "last_oom", lambda device: f"all of {device}")
    assert train_step._summary(failure, options) == "all of SIM:0"
    failure["error"] = "InfeasibleBudget"
    assert train_step._summary(failure, options) == "InfeasibleBudget: OOM"


def test_compare_stops_at_an_error(monkeypatch):
    failure = {"error": "ResourceExhausted", "message": "OOM when allocating"}
    monkeypatch.setattr(turns, "train_in_turn", lambda *_: [failure] * 2)
    with pytest.raises(RuntimeError, match="A failed with ResourceExhausted"):
        compare.measure(["A"], ["B"], 1)


def test_measurements_train_in_turn():
    a, b = turns.train_in_turn(
        ["--model", "mlp", "--mode", "stock", "--steps", 1],
        ["--model", "mlp", "--mode", "sn", "--budget", "1GB", "--steps", 2],
    )
    assert (a["mode"], len(a["step_times_s"])) == ("stock", WARM_UP_STEPS + 1)
    assert (b["mode"], len(b["step_times_s"])) == ("sn", WARM_UP_STEPS + 2)


def test_a_measurement_in_turn_without_a_result_is_an_error():
    with pytest.raises(RuntimeError, match="invalid choice: 'lenet'"):
        turns.train_in_turn(["--model", "lenet"])


def test_a_process_without_a_result_is_an_error():
    with pytest.raises(RuntimeError, match="invalid choice: 'lenet'"):
        child.train_step("--model", "lenet", quiet=True)


def test_demo_tells_what_did_not_go_as_said():
    fits = {"loss": [3.0, 2.9, 1.0, 1.1], "peak_bytes": 9, "budget_bytes": 9}
    good = {
        "stock-limited": {"error": "ResourceExhausted", "message": "OOM"},
        "sn": fits,
        "stock": fits,
    }
    assert demo.faults(good) == []
    bad = {
        "stock-limited": fits,
        "sn": fits | {"peak_bytes": 10},
        "stock": fits | {"loss": [1.0, 2.0]},
    }
    assert demo.faults(bad) == [
        "stock TensorFlow fits in the budget: choose a smaller",
        "stock: the loss did not fall",
        "sn: the peak is above the budget",
    ]


def test_long_run_tells_what_stayed():
    clean = {"in_use_bytes": [5], "host_tier_in_use_bytes": 0}
    assert long_run.faults(clean) == []
    dirty = {"in_use_bytes": [5, 7], "host_tier_in_use_bytes": 64}
    assert long_run.faults(dirty) == [
        "in use after a step: 2 different values, 5 to 7 bytes",
        "the host tier held up to 64 bytes between steps",
    ]


def test_readme_gets_the_table_between_its_markers(tmp_path):
    one = {
        "model": "resnet50",
        "batch": 32,
        "image": 112,
        "optimizer": "sgd",
        "tf_version": "2.21.0",
        "cpus": 2,
        "budget_bytes": 300_000_000,
        "peak_bytes": 299_000_000,
        "step_time_s": 1.5,
        "loss": [2.5, 0.5],
    }
    results = {
        "stock-limited": one | {"error": "ResourceExhausted"},
        "sn": one,
        "stock": one | {"budget_bytes": 0, "peak_bytes": 880_000_000},
    }
    path = tmp_path / "README.md"
    path.write_text(f"before\n{readme.BEGIN}\nold\n{readme.END}\nafter\n")
    readme.update(path, readme.section(results))
    text = path.read_text()
    assert text.startswith(f"before\n{readme.BEGIN}\n")
    assert text.endswith(f"\n{readme.END}\nafter\n")
    assert "old" not in text
    assert "| none | 880.0 MB | 1.50 s | 2.500 to 0.500 |" in text
    assert "| 300 MB | fails: ResourceExhausted | - | - |" in text
    readme.update(path, readme.section(results))
    assert path.read_text() == text


def test_a_readme_without_markers_is_refused(tmp_path):
    path = tmp_path / "README.md"
    path.write_text("nothing here\n")
    with pytest.raises(ValueError, match="no place for results"):
        readme.update(path, "x")
    assert path.read_text() == "nothing here\n"
