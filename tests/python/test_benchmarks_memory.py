# SPDX-License-Identifier: Apache-2.0
"""benchmarks.real_memory: what it makes of results, and the limits it sets."""

import subprocess
import sys

import commands
import pytest

from benchmarks import child, memory_limit, real_memory

_MB = 10**6
_TINY = (
    *("--model", "resnet", "--depth", "11", "--image", "32"),
    *("--batch", "8", "--steps", "1"),
)


# ---- real_memory ------------------------------------------------------------

_STOCK = {"rss_peak_bytes": 2500 * _MB, "data_before_bytes": 800 * _MB}
_ORDER = {
    "rss_peak_bytes": 2300 * _MB,
    "peak_bytes": 1500 * _MB,
    "floor_bytes": 300 * _MB,
}


def test_the_first_budget_aims_below_the_target():
    budget = real_memory.first_budget(_STOCK, _ORDER)
    # What is no tensor, and the budget with an eighth: 57% of stock's.
    assert 800 * _MB + 1.125 * budget == pytest.approx(0.57 * 2500 * _MB)
    high_floor = _ORDER | {"floor_bytes": 900 * _MB}
    assert real_memory.first_budget(_STOCK, high_floor) == 900 * _MB


def test_the_budget_is_lowered_until_enough_is_saved():
    asked = []

    def run(budget):
        asked.append(budget)
        rss = 1550 * _MB if len(asked) == 1 else 1490 * _MB
        return {"rss_peak_bytes": rss, "budget_bytes": budget}

    found = real_memory.find_budget(_STOCK, _ORDER, run)
    assert found["rss_peak_bytes"] == 1490 * _MB
    first, second = asked
    assert second == first - int(50 * _MB + 0.05 * first)


def test_the_limit_lies_between_what_the_two_take():
    assert real_memory.arena_bytes(400 * _MB) == 2**29
    assert real_memory.arena_bytes(450 * _MB) == 2**30

    def limit(given, *, is_cgroup):
        return real_memory.choose_limit(
            given, _STOCK, 400 * _MB, is_cgroup=is_cgroup
        )

    assert limit(None, is_cgroup=True) == 1875 * _MB
    assert limit(None, is_cgroup=False) == 800 * _MB + 2**29 + 2**28
    assert limit("2GB", is_cgroup=True) == 2000 * _MB


def test_an_end_without_result_is_an_outcome():
    def killed():
        command = [sys.executable, "-c", "print('what(): bad_alloc')"]
        child.result_in("", command, -9, "one\nwhat(): std::bad_alloc\nlast")

    found = real_memory.outcome(killed)
    assert found == {
        "trained": False,
        "how": "exit status -9; what(): std::bad_alloc",
    }
    failed = real_memory.outcome(
        lambda: {"error": "ResourceExhausted", "message": "OOM"}
    )
    assert failed == {"trained": False, "how": "ResourceExhausted: OOM"}


def _memory_found(**changes):
    one = {"rss_peak_bytes": 1500 * _MB, "step_time_s": 1.0}
    one |= {"weights_sha256": "same", "budget_bytes": 400 * _MB}
    found = {
        "stock": one | {"rss_peak_bytes": 2500 * _MB, "budget_bytes": 0},
        "order": one,
        "sn": one,
        "saved": 0.4,
        "limited": {
            "kind": "cgroup",
            "limit_bytes": 1875 * _MB,
            "stock": {"trained": False, "how": "exit status -9"},
            "sn": {"trained": True, "how": "it did", "weights_sha256": "same"},
        },
    } | changes
    return found | {"faults": real_memory.faults(found)}


def test_targets_of_real_memory():
    good = _memory_found()
    assert good["faults"] == []
    text = real_memory.table(good)
    assert "| sn_tf | 400.0 MB | 1500.0 MB | 40.0% | 1.000 s | yes |" in text
    assert "Within 1875.0 MB (cgroup):" in text
    assert text.endswith("Targets: met")
    limited = good["limited"] | {
        "stock": {"trained": True, "how": "trained"},
        "sn": {"trained": False, "how": "exit status -9"},
    }
    assert _memory_found(saved=0.39, limited=limited)["faults"] == [
        "peak less than 40% below stock's",
        "stock trains within the limit",
        "sn does not train within the limit",
    ]


def test_the_memory_of_both_is_measured_and_limited():
    done = commands.run(
        *("benchmarks.real_memory", "--json", *_TINY, "--budget", "20MB"),
        # Where there is room for both, both train.
        *("--limit", "16GB"),
    )
    assert done.returncode == 1, done.stderr[-2000:]
    found = commands.printed(done)
    assert found["stock"]["rss_peak_bytes"] > 100 * _MB
    assert found["sn"]["budget_bytes"] == 20 * _MB
    limited = found["limited"]
    assert limited["limit_bytes"] == 16 * 10**9
    assert limited["stock"]["trained"]
    assert limited["sn"]["trained"]
    assert "stock trains within the limit" in found["faults"]
    assert not any("weights" in fault for fault in found["faults"])


# ---- memory_limit -----------------------------------------------------------

_TAKES_MEMORY = [sys.executable, "-c", "len(bytearray(400_000_000))"]


def _end(prefix):
    return subprocess.run(
        [*prefix, *_TAKES_MEMORY], capture_output=True, check=False
    ).returncode


def test_a_limit_of_data_holds():
    with memory_limit.data_limit(2 * 10**9) as prefix:
        assert _end(prefix) == 0
    with memory_limit.data_limit(300 * _MB) as prefix:
        assert _end(prefix) != 0


def test_a_limit_of_a_cgroup_holds():
    parent = memory_limit.parent_group()
    if parent is None:
        pytest.skip("no cgroup can be made here")
    with memory_limit.cgroup(parent, 2 * 10**9) as prefix:
        assert _end(prefix) == 0
    with memory_limit.cgroup(parent, 300 * _MB) as prefix:
        assert _end(prefix) != 0


def test_a_cgroup_is_made_where_memory_is_handed_down(tmp_path):
    own = tmp_path / "slice" / "own"
    own.mkdir(parents=True)

    def found():
        return memory_limit.parent_group(tmp_path, "4:cpu:/x\n0::/slice/own\n")

    assert found() is None
    control = tmp_path / "slice" / "cgroup.subtree_control"
    control.write_text("cpu pids\n")
    assert found() is None
    control.write_text("cpu memory pids\n")
    assert found() == tmp_path / "slice"
    (own / "cgroup.subtree_control").write_text("memory\n")
    assert found() == own
    # Nothing above the hierarchy's root is looked at.
    assert memory_limit.parent_group(own, "0::/\n") == own
    (own / "cgroup.subtree_control").write_text("")
    assert memory_limit.parent_group(own, "0::/\n") is None
