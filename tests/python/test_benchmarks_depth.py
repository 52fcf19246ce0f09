# SPDX-License-Identifier: Apache-2.0
"""benchmarks.depth: its search, and what it makes of trials that fail."""

import commands
import pytest

import models
from benchmarks import child, depth, doubling

_MB = 10**6


# ---- The search -------------------------------------------------------------


def _asked(limit, **search):
    """What `doubling.largest` finds below a limit, and what it asked for."""
    asked = []

    def passes(number):
        asked.append(number)
        return number <= limit

    return doubling.largest(passes, **search), asked


def test_the_search_doubles_and_then_halves():
    found, asked = _asked(11, first=1, most=100)
    assert found == doubling.Found(11, is_largest=True)
    assert asked == [1, 2, 4, 8, 16, 12, 10, 11]


def test_the_search_halves_where_the_first_fails():
    found, asked = _asked(3, first=8, most=100)
    assert found == doubling.Found(3, is_largest=True)
    assert asked == [8, 4, 2, 3]
    found, asked = _asked(0, first=2, most=100)
    assert found == doubling.Found(0, is_largest=True)
    assert asked == [2, 1]


def test_the_search_ends_at_its_top_and_where_enough_passes():
    found, asked = _asked(100, first=3, most=10)
    assert found == doubling.Found(10, is_largest=False)
    assert asked == [3, 6, 10]
    found, asked = _asked(100, first=7, most=50, enough=7)
    assert found == doubling.Found(7, is_largest=False)
    assert asked == [7]


@pytest.mark.parametrize("first", [1, 5, 9, 20])
def test_the_search_finds_every_limit(first):
    for limit in range(12):
        found, asked = _asked(limit, first=first, most=9)
        assert found == doubling.Found(min(limit, 9), is_largest=limit < 9)
        assert len(asked) == len(set(asked))
        assert all(1 <= number <= 9 for number in asked)


# ---- Networks ---------------------------------------------------------------


def test_depths_and_convolutions_are_those_of_the_network():
    model = models.build("resnet", depth=depth.depth_of(2), image=8)
    kinds = [type(layer).__name__ for layer in model.layers]
    assert kinds.count("Conv2D") == depth.convolutions_of(2)
    # 9n + 2 for depths, 9n + 4 for convolutions.
    assert depth.blocks_for(1010.0, 2) == 112
    assert depth.blocks_for(1010.5, 2) == 113
    assert depth.blocks_for(2500, 4) == 278
    assert depth.blocks_for(0, 2) == 1


# ---- Trials -----------------------------------------------------------------


def _options(*given):
    return depth.parse(["--budget", "100MB", *given])


def _trained(peak_bytes=90 * _MB):
    return {
        "mode": "sn",
        "budget_bytes": 100 * _MB,
        "layers": 39,
        "peak_bytes": peak_bytes,
        "step_time_s": 1.5,
        "ops": 900,
        "plan_time_s": 0.25,
        "swapped_out_bytes_per_step": 0.0,
        "recomputed_ops": 7,
    }


def _failed(error, **more):
    given = {"budget_bytes": 100 * _MB, "error": error, "message": "boom"}
    return {"mode": "sn", "min_budget_bytes": None, **given, **more}


def _machine(monkeypatch, results):
    """Lets `results(mode, n)` stand for trainings; returns what was asked."""
    asked = []

    def train_step(*arguments):
        given = dict(zip(arguments[::2], arguments[1::2], strict=True))
        n = depth.blocks_for(given["--depth"], 2)
        asked.append((given["--mode"], n))
        return results(given["--mode"], n)

    monkeypatch.setattr(child, "train_step", train_step)
    return asked


def _room_for(stock, sn):
    def results(mode, n):
        if n <= (stock if mode == "stock-limited" else sn):
            return _trained()
        return _failed("ResourceExhausted")

    return results


def test_the_search_ends_where_the_target_is_shown(monkeypatch):
    asked = _machine(monkeypatch, _room_for(3, 1000))
    options = _options("--tries", "1")
    found = depth.run_search(options)
    assert asked == [
        *(("stock-limited", n) for n in (1, 2, 4, 3)),
        ("sn", 32),  # 290 = 10 * 29.
    ]
    assert (found["stock_depth"], found["sn_depth"]) == (29, 290)
    assert found["ratio"] == 10
    assert found["faults"] == []
    text = depth.report(options, {"search": found})
    assert "sn_tf: depth at least 290" in text
    assert "ratio: at least 10.00 (target 10, the paper 3.24)" in text


def test_the_search_goes_on_if_asked_to(monkeypatch):
    _machine(monkeypatch, _room_for(1, 21))
    options = _options("--tries", "1", "--deepest")
    found = depth.run_search(options)
    assert (found["stock_depth"], found["sn_depth"]) == (11, 191)
    assert "ratio: 17.36 (" in depth.report(options, {"search": found})


def test_a_ratio_below_the_target_is_a_fault(monkeypatch):
    _machine(monkeypatch, _room_for(2, 5))
    found = depth.run_search(_options("--tries", "1"))
    assert (found["stock_depth"], found["sn_depth"]) == (20, 47)
    assert found["faults"] == ["ratio below 10"]


def test_nothing_trains_in_a_budget_that_is_too_small(monkeypatch):
    _machine(monkeypatch, _room_for(0, 0))
    options = _options("--tries", "1")
    found = depth.run_search(options)
    assert found["ratio"] is None
    assert found["faults"] == [
        "stock TensorFlow trains at no depth: raise the budget"
    ]
    assert "sn_tf: depth 0" in depth.report(options, {"search": found})


def test_stock_that_reaches_the_top_of_the_search_is_a_fault(monkeypatch):
    _machine(monkeypatch, _room_for(100, 100))
    found = depth.run_search(_options("--most-depth", "20"))
    assert found["faults"] == [
        "ratio below 10",
        "stock TensorFlow may train deeper: raise --most-depth",
    ]


def test_only_stock_is_tried_again(monkeypatch):
    results = iter([_failed("ResourceExhausted"), _trained(), _trained()])
    asked = _machine(monkeypatch, lambda mode, n: next(results))
    one = depth.run_trial(_options(), "stock-limited", 4)
    assert (one["fits"], one["outcome"]) == (True, "trained, 2 tries")
    assert len(asked) == 2
    _machine(monkeypatch, lambda mode, n: _failed("ResourceExhausted"))
    one = depth.run_trial(_options(), "stock-limited", 4)
    assert (one["fits"], one["outcome"]) == (False, "out of memory, 3 tries")
    one = depth.run_trial(_options(), "sn", 4)
    assert one["outcome"] == "out of memory"


def test_an_infeasible_budget_is_a_lack_of_memory(monkeypatch):
    failed = _failed("InfeasibleBudget", min_budget_bytes=123 * _MB, ops=900)
    _machine(monkeypatch, lambda mode, n: failed)
    one = depth.run_trial(_options(), "sn", 4)
    assert not one["fits"]
    assert one["outcome"] == "no plan below 123.0 MB"
    assert "| sn_tf | 38 | 40 | - | no plan" in depth.table([one])


@pytest.mark.parametrize("way", ["no result", "another error"])
def test_another_failure_is_no_lack_of_memory(monkeypatch, way):
    def results(mode, n):
        if n < 4:
            return _trained()
        if way == "no result":
            raise RuntimeError("No result from: python. boom")
        return _failed("RecursionError")

    _machine(monkeypatch, results)
    with pytest.raises(RuntimeError, match="boom"):
        depth.run_trial(_options(), "sn", 4)
    found = depth.search(_options(), "sn")
    assert (found["depth"], found["is_deepest"]) == (20, False)
    assert [one["fits"] for one in found["trials"]] == [True, True]
    (fault,) = found["faults"]
    assert fault.startswith("sn_tf: ")
    assert "boom" in fault
    step = depth.run_step(_options("--convolutions", "40"))
    assert "boom" in step["faults"][0]


def test_a_step_tells_what_is_wrong(monkeypatch):
    options = _options("--convolutions", "40")
    _machine(monkeypatch, lambda mode, n: _trained())
    assert depth.run_step(options)["faults"] == []
    _machine(monkeypatch, lambda mode, n: _trained(101 * _MB))
    assert depth.run_step(options)["faults"] == [
        "sn_tf, depth 38: peak above the budget"
    ]
    _machine(monkeypatch, lambda mode, n: _failed("ResourceExhausted"))
    assert depth.run_step(options)["faults"] == [
        "40 convolutions: out of memory"
    ]


@pytest.mark.parametrize("flag", ["--most-depth", "--tries"])
def test_limits_that_make_no_sense_are_refused(capsys, flag):
    with pytest.raises(SystemExit):
        depth.parse([flag, "0"])
    assert f"{flag} must be at least" in capsys.readouterr().err


def test_a_search_and_a_step_for_real():
    done = commands.run(
        "benchmarks.depth",
        *("--batch", 2, "--image", 8, "--budget", "20MB", "--tiers", "none"),
        *("--most-depth", 11, "--target", 1, "--convolutions", 13, "--json"),
    )
    assert done.returncode == 1, done.stderr[-2000:]
    found = commands.printed(done)
    stock, sn = found["search"]["trials"]
    assert found["search"]["faults"] == [
        "stock TensorFlow may train deeper: raise --most-depth"
    ]
    assert stock["fits"]
    assert stock["ops"] is None
    (step,) = found["step"]["trials"]
    for one in (sn, step):
        assert one["outcome"] == "trained"
        assert (one["depth"], one["convolutions"]) == (11, 13)
        assert one["layers"] == 39
        assert one["ops"] > 100
        assert 0 < one["peak_bytes"] <= one["budget_bytes"] == 20 * _MB
    assert found["step"]["faults"] == []
    assert "stock TensorFlow, depth 11: trained" in done.stderr
    assert "39 layers; the first step is traced" in done.stderr
