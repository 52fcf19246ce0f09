# SPDX-License-Identifier: Apache-2.0
"""benchmarks.sim: what it counts, and what it makes of it; no times."""

import commands
import pytest

from benchmarks import child, sim, sim_overlap

_BYTES = 8_000_000
_CHUNK = _BYTES // 16


def test_every_path_copies_what_was_asked_for_and_by_its_model():
    found = child.run(
        "benchmarks.sim_pacing",
        ["--link", "80MB/s", "--bytes", "8MB", "--rounds", 2],
        quiet=True,
    )
    assert found["link"] == "80MB/s"
    assert found["bandwidth_bytes_per_s"] == 80e6
    copied = {
        path: (one["to_device_bytes"], one["to_host_bytes"])
        for path, one in found["paths"].items()
    }
    assert copied == {
        "to device, pageable": (_BYTES, 0),
        "to host, pageable": (0, _BYTES),
        "to device, pinned": (_BYTES, 0),
        "to host, pinned": (0, _BYTES),
    }
    latency = 10e-6
    for path, one in found["paths"].items():
        bandwidth = 80e6 if "pinned" in path else 40e6
        bytes_copied = one["to_device_bytes"] + one["to_host_bytes"]
        copies = bytes_copied // _CHUNK
        assert one["modelled_seconds"] == pytest.approx(
            copies * latency + bytes_copied / bandwidth
        )
        # Never faster than the model; how much slower is this machine's.
        assert len(one["seconds"]) == 2
        assert min(one["seconds"]) >= one["modelled_seconds"]
        assert 1 <= one["ratio_min"] <= one["ratio"] <= one["ratio_max"]


def test_the_command_prints_tables_and_json_last():
    done = commands.run(
        *("benchmarks.sim", "--json"),
        *("--bytes", "8MB", "--rounds", "1", "--presets", "nvlink4"),
        *("--models", "mlp", "--steps", "1", "--memory", "256MB"),
        TF_ENABLE_ONEDNN_OPTS="0",
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "pacing: unlimited" in done.stderr
    found = commands.printed(done)
    assert list(found) == ["pacing", "overlap", "overhead"]

    links = found["pacing"]["links"]
    slower = links[-1]["slower"]
    names = ["unlimited", "nvlink4", f"nvlink4/{slower}"]
    assert [line["link"] for line in links] == names
    assert slower == sim.times_slower(
        links[1]["bandwidth_bytes_per_s"],
        found["pacing"]["machine_bytes_per_s"],
    )
    assert [line["counted_only"] for line in links] == [True, True, False]
    assert f"| nvlink4/{slower} |" in done.stdout

    overlap = found["overlap"]
    assert overlap["link"] == "pcie3/8"
    assert overlap["bytes"] == [[_BYTES, _BYTES, 2 * _BYTES]]
    assert overlap["both_ratio"] > 0
    assert overlap["slowdown"] > 0

    overhead = found["overhead"]
    assert (overhead["mode"], overhead["onednn"]) == ("stock", False)
    assert overhead["onednn_variable"] == "0"
    (line,) = overhead["models"]
    assert (line["model"], line["rounds"]) == ("mlp", 1)
    assert "oneDNN is off (TF_ENABLE_ONEDNN_OPTS: 0)" in done.stdout


def test_parts_are_chosen():
    options = sim.parse(["--only", "overlap", "overhead"])
    assert options.only == ["overlap", "overhead"]
    assert sim.parse([]).only == sim.PARTS
    with pytest.raises(SystemExit):
        sim.parse(["--only", "speed"])


def test_a_link_is_slowed_by_the_smallest_power_of_two():
    machine = 10e9  # Of which three quarters are used.
    assert sim.times_slower(7.5e9, machine) == 1
    assert sim.times_slower(7.6e9, machine) == 2
    assert sim.times_slower(15e9, machine) == 2
    assert sim.times_slower(16e9, machine) == 4
    assert sim.times_slower(400e9, machine) == 64


def _line(link, bandwidth, ratio, *, counted_only=False):
    path = {"bytes_per_s": 5e9, "ratio": ratio}
    return {
        "link": link,
        "bandwidth_bytes_per_s": bandwidth,
        "counted_only": counted_only,
        "paths": {"to device": path, "to host": path},
    }


def test_the_table_tells_what_was_counted_only():
    found = {
        "bytes": "8MB",
        "links": [
            _line("unlimited", 0, None, counted_only=True),
            _line("pcie3", 13.4e9, 1.049),
            _line("pcie4", 26.8e9, 2.0, counted_only=True),
            _line("pcie4/2", 13.4e9, 1.051),
        ],
    }
    head, _, *rows = sim.pacing_table(found).splitlines()[2:]
    assert head.count("|") == rows[0].count("|")
    ends = [row.split(" | ")[-1] for row in rows]
    assert ends == [
        "the machine's own speed |",
        "yes |",
        "counted only |",
        "no |",
    ]
    assert "| 1.049: 5.00 GB/s |" in rows[1]
    assert "| unlimited |  | 5.00 GB/s |" in rows[0]


def test_ratios_of_the_overlap_are_medians_over_the_rounds():
    one = {
        "to_device": 2.0,
        "to_host": 1.0,
        "both": 2.0,
        "computing": 4.0,
        "together": 4.0,
        "computing_meanwhile": 4.0,
        "stalled_alone": 2.0,
        "stalled_meanwhile": 0.0,
    }
    slow = one | {"both": 3.0, "together": 8.0, "computing_meanwhile": 6.0}
    found = sim_overlap.summarize([one, slow, slow])
    assert found["both"] == [2.0, 3.0, 3.0]
    assert found["both_ratio"] == 1.5
    assert found["together_ratio"] == 2.0
    assert found["slowdown"] == 1.5
    assert found["stall_share_alone"] == 1.0
    assert found["stall_share_meanwhile"] == 0.0
    assert "| both at once | 3.000 s | 1.500 of the longer one |" in (
        sim_overlap.table({"link": "pcie3/8"} | found)
    )
