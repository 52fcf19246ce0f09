# SPDX-License-Identifier: Apache-2.0
"""benchmarks.arena: traces, their replay, and what is made of it."""

import pytest

from benchmarks import arena, arena_record, child, replay

_RESNET = (
    *("--model", "resnet", "--depth", "20", "--image", "32"),
    *("--batch", "16", "--steps", "1"),
)


def _event(kind, offset, size=0):
    return {"event": kind, "offset": offset, "bytes": size}


def test_a_trace_numbers_blocks_and_uses_numbers_again():
    text = arena_record.encode(
        [[0, 64], [128, 256]],
        [
            _event("alloc", 64, 64),
            _event("refused", 0, 4096),
            _event("free", 128),
            _event("free", 64),
            _event("alloc", 512, 1024),
        ],
        budgeted=True,
    )
    assert text.splitlines() == [
        "sn_tf_arena_trace 1",
        "budgeted 1",
        "resident 2",
        "64",
        "256",
        "events 4",
        "a 2 64",
        "f 1",
        "f 2",
        "a 2 1024",
    ]


def test_a_trace_that_frees_unknown_blocks_is_refused():
    with pytest.raises(ValueError, match="frees a block at 64"):
        arena_record.encode([], [_event("free", 64)], budgeted=False)


def test_recorded_steps_are_replayed(tmp_path):
    trace = tmp_path / "tiny.trace"
    recorded = child.run(
        "benchmarks.arena_record",
        [*_RESNET, "--mode", "stock", "--trace", trace],
        quiet=True,
    )
    assert recorded["events"] > 100
    assert recorded["peak_bytes"] > 0
    # Whether targets are met is not of this test.
    lines = child.run(
        "benchmarks.arena",
        ["--traces", trace, "--rounds", 1, "--threads", 1, 3],
        quiet=True,
    )["lines"]
    assert [line["threads"] for line in lines] == [1, 3]
    for line in lines:
        # What the steps left behind is put in order, by a few events more.
        assert line["operations"] >= recorded["events"]
        assert line["peak_bytes"] == recorded["peak_bytes"]
        for allocator in arena.ALLOCATORS:
            assert line[allocator]["wall_ns"] > 0
            assert line[allocator]["thread_ns"] > 0
            assert line[allocator]["processor_ns"] > 0
        for allocator in ("arena", "bfc"):
            assert line[allocator]["fragmentation"] >= 1


def test_a_file_that_is_no_trace_is_refused(tmp_path):
    path = tmp_path / "no.trace"
    path.write_text("sn_tf_arena_trace 1\nbudgeted 0\nresident 1\n")
    with pytest.raises(RuntimeError, match="not a trace"):
        replay.measure(replay.build(), path, "arena", 1)


def _arena_line(**times):
    return {
        name: {"wall_ns": ns, "fragmentation": 1.05}
        for name, ns in times.items()
    }


def test_arena_lines_fail_where_a_target_is_missed():
    assert arena.faults(_arena_line(arena=40, bfc=40, malloc=41)) == []
    slow = _arena_line(arena=50, bfc=40, malloc=100)
    assert arena.faults(slow) == ["1.25 times BFC's time"]
    scattered = _arena_line(arena=40, bfc=50, malloc=50)
    scattered["arena"]["fragmentation"] = 1.06
    assert arena.faults(scattered) == ["fragmentation above 1.05"]
