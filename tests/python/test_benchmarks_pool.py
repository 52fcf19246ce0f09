# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of tiers, cache and transfers: what they make of results.

Each also runs once for real, at a tiny size; of those, only what does not
depend on time is checked.
"""

import commands
import pytest

from benchmarks import (
    WARM_UP_STEPS,
    cache,
    child,
    compression,
    markdown,
    overlap,
    turns,
)

_TINY = ("--model", "resnet", "--depth", "11", "--image", "32")
_MB = 10**6


def _run(module, *arguments):
    """The JSON that a benchmark prints, and its exit status."""
    done = commands.run(module, *arguments, "--json")
    assert done.returncode in (0, 1), done.stderr[-2000:]
    return commands.printed(done), done.returncode


def _same_width(text):
    lines = text.splitlines()
    return len({line.count(" | ") for line in lines}) == 1


# What all canned trainings share: two steps of warm-up and two that count.
_WARM_UP = [9.0] * WARM_UP_STEPS

_TRAINED = {
    "mode": "sn",
    "model": "resnet",
    "budget_bytes": 100 * _MB,
    "peak_bytes": 99 * _MB,
    "step_peak_bytes": 99 * _MB,
    "resident_bytes": 20 * _MB,
    "step_times_s": [*_WARM_UP, 1.0, 3.0],
    "step_time_s": 2.0,
    "swap_sizes": [3 * _MB, 8 * _MB, 5 * _MB],
    "swapped_out_bytes_per_step": 16.0 * _MB,
    "swapped_in_bytes_per_step": 16.0 * _MB,
    "evictions_per_step": 2.0,
    "stall_seconds_per_step": 0.1,
    "tier_stats": [],
    "weights_sha256": "same",
}


# ---- Turns and tables -------------------------------------------------------


def test_ratios_are_of_the_same_turns():
    slow, fast = [2.0, 40.0, 3.0], [1.0, 10.0, 1.0]
    assert turns.ratio(slow, fast) == 3.0
    assert turns.counted_times(_TRAINED) == [1.0, 3.0]


def test_a_table_is_markdown():
    text = markdown.table(["a", "b"], [["1", "2"]])
    assert text == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert markdown.megabytes(1_250_000) == "1.2 MB"
    assert markdown.megabytes(None) == "-"


# ---- cache ------------------------------------------------------------------


def _cache_line(working_set, moved, **changes):
    order = _TRAINED | {"mode": "order", "step_peak_bytes": working_set}
    on = _TRAINED | {"swapped_out_bytes_per_step": float(moved)} | changes
    off = _TRAINED | {"step_times_s": [*_WARM_UP, 2.0, 6.0]}
    return cache.line_of(8, order, on, off)


def test_nothing_may_move_while_the_working_set_fits():
    line = _cache_line(100 * _MB, 0)
    assert line["unfit_bytes"] == 0
    assert line["ratio"] == 0.5
    assert line["faults"] == []
    assert _cache_line(100 * _MB, 1)["faults"] == [
        "1 bytes moved although the working set fits"
    ]


def test_beyond_what_does_not_fit_one_buffer_may_move():
    line = _cache_line(130 * _MB, 38 * _MB)
    assert line["unfit_bytes"] == 30 * _MB
    assert line["largest_buffer_bytes"] == 8 * _MB
    assert line["faults"] == []
    assert _cache_line(130 * _MB, 38 * _MB + 1)["faults"] == [
        f"{38 * _MB + 1} bytes moved, more than {38 * _MB}"
    ]
    other = _cache_line(130 * _MB, 30 * _MB, weights_sha256="other")
    assert other["faults"] == ["weights differ"]


def test_a_batch_that_no_plan_fits_is_a_line_too():
    failure = {"error": "InfeasibleBudget", "message": "too small"}
    line = _cache_line(130 * _MB, 0, **failure)
    assert line["faults"] == ["sn: InfeasibleBudget: too small"]
    text = cache.table([line, _cache_line(130 * _MB, 30 * _MB)])
    assert _same_width(text)
    assert "| 30.0 MB | 8.0 MB | 30.0 MB | 16.0 MB |" in text


def test_the_cache_moves_only_what_does_not_fit():
    lines, status = _run(
        "benchmarks.cache",
        *(*_TINY, "--budget", "30MB", "--batches", 8, 24, "--steps", 1),
    )
    assert status == 0, lines
    fits, beyond = lines
    assert fits["working_set_bytes"] < 30 * _MB < beyond["working_set_bytes"]
    assert fits["out_bytes"]["on"] == 0
    assert 0 < beyond["out_bytes"]["on"] < beyond["out_bytes"]["off"]
    assert fits["same_weights"]
    assert beyond["same_weights"]


# ---- overlap ----------------------------------------------------------------


def test_the_budget_is_found_from_what_it_moves():
    order = _TRAINED | {"step_peak_bytes": 120 * _MB}
    asked = []

    def run(budget):
        asked.append(budget)
        # A plan that moves 12 MB more than what the budget lacks.
        moved = 120 * _MB - budget + 12 * _MB
        return _TRAINED | {
            "budget_bytes": budget,
            "swapped_out_bytes_per_step": float(moved),
        }

    assert overlap.activations_of(order) == 100 * _MB
    near = overlap.find_budget(order, run)
    assert asked == [70 * _MB, 82 * _MB]
    assert near["budget_bytes"] == 82 * _MB
    assert near["swapped_out_bytes_per_step"] == 50.0 * _MB


def test_no_budget_is_taken_below_the_smallest():
    order = _TRAINED | {"step_peak_bytes": 120 * _MB}

    def run(budget):
        if budget < 90 * _MB:
            return _TRAINED | {
                "error": "InfeasibleBudget",
                "message": "too small",
                "min_budget_bytes": 90 * _MB,
            }
        return _TRAINED | {
            "budget_bytes": budget,
            "swapped_out_bytes_per_step": 30.0 * _MB,
        }

    assert overlap.find_budget(order, run)["budget_bytes"] == 90 * _MB

    def never(budget):
        return _TRAINED | {
            "error": "InfeasibleBudget",
            "message": "too small",
            "min_budget_bytes": 0,
        }

    with pytest.raises(RuntimeError, match="too small"):
        overlap.find_budget(order, never)


def test_a_link_suffices_where_both_directions_hide():
    # 30 MB out in a third of 3 s; in, in the rest.
    assert overlap.sufficient_bandwidth(30e6, 3.0, 1 / 3) == 30e6
    assert overlap.sufficient_bandwidth(30e6, 3.0, 2 / 3) == pytest.approx(30e6)


def _overlap_line(device, **changes):
    order = _TRAINED | {"step_peak_bytes": 52 * _MB}
    compute = _TRAINED | {"step_times_s": [*_WARM_UP, 1.0, 2.0]}
    transfer = {
        "step_times_s": [*_WARM_UP, 2.0, 1.0],
        "both_seconds": [*_WARM_UP, 1.5, 0.5],
    }
    return overlap.line_of(
        device, "file", order, compute, transfer, _TRAINED | changes
    )


def test_a_step_is_compared_with_the_longer_of_its_parts():
    line = _overlap_line("cpu", step_times_s=[*_WARM_UP, 2.0, 2.4])
    assert line["ratio"] == pytest.approx(1.1)
    assert line["stall_share"] == pytest.approx(0.1 / 2.2)
    assert (line["compute_s"], line["transfer_s"]) == (1.5, 1.5)
    assert line["both_at_once_s"] == 1.0
    assert line["faults"] == []
    assert _same_width(overlap.table([line]))
    assert "16.0 MB, 50% of activations" in overlap.table([line])


def test_targets_of_the_overlap():
    times = [*_WARM_UP, 2.6, 2.6]
    line = _overlap_line("cpu", step_times_s=times, stall_seconds_per_step=0.2)
    assert line["faults"] == ["ratio above 1.20", "stalls above 5%"]
    line = _overlap_line("sim", step_times_s=[*_WARM_UP, 2.2, 2.2])
    assert line["faults"] == ["ratio above 1.05"]
    line = _overlap_line(
        "sim",
        step_times_s=[*_WARM_UP, 2.0, 2.0],
        weights_sha256="other",
        peak_bytes=101 * _MB,
    )
    assert line["faults"] == ["weights differ", "peak above the budget"]


def test_the_overlap_is_measured_on_both_devices():
    lines, status = _run(
        "benchmarks.overlap",
        *(*_TINY, "--batch", 16, "--steps", 1, "--memory", "1GB"),
    )
    assert [(line["device"], line["policy"]) for line in lines] == [
        *(("cpu", "swap"), ("sim", "swap")),
        *(("sim", "swap"), ("sim", "auto")),
    ]
    assert status == (1 if any(line["faults"] for line in lines) else 0)
    for line in lines:
        assert line["same_weights"]
        assert line["peak_bytes"] <= line["budget_bytes"]
    for line in lines[:3]:
        # What is read at two times may come back twice.
        assert line["in_bytes"] >= line["out_bytes"]
        assert 0 < line["out_bytes"] < line["activation_bytes"]
    whole, half, same = (
        int(line["medium"].removesuffix("MB/s")) for line in lines[1:]
    )
    assert abs(whole - 2 * half) <= 1
    assert same == half


def test_transfers_alone_move_what_they_are_told_to():
    sizes = [400_000, 4, 1_000_000]
    found = child.run(
        "benchmarks.transfers",
        [
            *("--tiers", "host", "--steps", 1),
            *("--sizes", ",".join(map(str, sizes))),
        ],
        quiet=True,
    )
    assert found["bytes"] == found["out_bytes_per_step"] == sum(sizes)
    for name in ("out_seconds", "in_seconds", "both_seconds", "step_times_s"):
        assert len(found[name]) == WARM_UP_STEPS + 1


def test_there_may_be_nothing_to_transfer():
    found = child.run(
        "benchmarks.transfers",
        [*("--tiers", "host", "--steps", 1), "--sizes", ""],
        quiet=True,
    )
    assert found["bytes"] == found["out_bytes_per_step"] == 0
    assert len(found["step_times_s"]) == WARM_UP_STEPS + 1


# ---- compression ------------------------------------------------------------


def _tier_result(tier, taken, **changes):
    stats = {"name": tier, "out_bytes": 64 * _MB, "out_taken_bytes": taken}
    return _TRAINED | {"tier_stats": [stats]} | changes


def test_lines_of_the_tiers():
    order = _TRAINED | {"step_times_s": [*_WARM_UP, 1.0, 1.5]}
    host, compressed, file = compression.lines_of(
        order,
        {
            "host": _tier_result("host", 64 * _MB),
            "compressed": _tier_result(
                "compressed", 40 * _MB, step_times_s=[*_WARM_UP, 2.0, 6.0]
            ),
            "file": _tier_result("file", 64 * _MB, weights_sha256="other"),
        },
    )
    assert (host["ratio"], host["of_host"], host["of_order"]) == (1, 1, 1.5)
    assert host["faults"] == []
    assert (compressed["ratio"], compressed["of_host"]) == (1.6, 2)
    assert compressed["faults"] == []
    assert file["faults"] == ["weights differ"]
    assert _same_width(compression.table([host, compressed, file]))


def test_targets_of_compression():
    _, compressed, file = compression.lines_of(
        _TRAINED,
        {
            "host": _tier_result("host", 64 * _MB),
            "compressed": _tier_result(
                "compressed", 64 * _MB, swapped_out_bytes_per_step=0.0
            ),
            "file": {
                "mode": "sn",
                "model": "resnet",
                "error": "E",
                "message": "why",
            },
        },
    )
    assert compressed["faults"] == ["nothing moved", "nothing saved"]
    assert file["faults"] == ["sn: E: why"]
    assert _same_width(compression.table([compressed, file]))


def test_all_tiers_give_the_same_weights():
    lines, _ = _run(
        "benchmarks.compression",
        *("--models", "resnet", *_TINY[2:], "--batch", 16, "--steps", 1),
        *("--budget", "14MB"),
    )
    assert [line["tier"] for line in lines] == ["host", "compressed", "file"]
    assert [line["faults"] for line in lines] == [[], [], []]
    ratios = [line["ratio"] for line in lines]
    assert ratios[0] == ratios[2] == 1 < ratios[1]
