# SPDX-License-Identifier: Apache-2.0
"""Budgets as callers write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sn_tf import budget


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (1, 1),
        (123_456, 123_456),
        (np.int64(4096), 4096),
        (3e8, 300_000_000),
        ("1024", 1024),
        ("1024B", 1024),
        ("3KB", 3_000),
        ("300MB", 300_000_000),
        ("300 MB", 300_000_000),
        (" 4GB ", 4_000_000_000),
        ("4gb", 4_000_000_000),
        ("1.5GB", 1_500_000_000),
        ("2KiB", 2048),
        ("800MiB", 800 * 2**20),
        ("0.5GiB", 2**29),
    ],
)
def test_reads_numbers_and_units(written: budget.Budget, expected: int) -> None:
    assert budget.parse_budget(written) == expected


@pytest.mark.parametrize(
    "written",
    [
        "4 potatoes",
        "potatoes",
        "",
        "GB",
        "4G",
        "-4GB",
        "0",
        "0%",
        "1e9GB",
        "4GB2",
        "nan",
        -1,
        0,
        -2.0,
        0.5,
        float("nan"),
        float("inf"),
        True,
        False,
        None,
        [4],
        b"4GB",
        10**30,
        "9999999999999999999TB",
    ],
)
def test_refuses_what_is_no_budget(written: object) -> None:
    with pytest.raises(ValueError) as error:
        budget.parse_budget(written)  # type: ignore[arg-type]
    assert f"budget={written!r}" in str(error.value)
    assert "'4GB'" in str(error.value)


def test_percentages_are_of_the_memory_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget, "memory_limit_bytes", lambda: 10_000)
    assert budget.parse_budget("60%") == 6_000
    assert budget.parse_budget("12.5%") == 1_250
    assert budget.parse_budget("100%") == 10_000


def test_auto_is_what_is_in_use_and_what_is_available(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget, "available_bytes", lambda: 7_000)
    assert budget.parse_budget("auto") == 7_000
    assert budget.parse_budget("auto", in_use_bytes=500) == 7_500


def test_above_the_memory_limit_is_only_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget, "memory_limit_bytes", lambda: 10_000)
    with pytest.warns(UserWarning, match="10001 bytes is above the 10000"):
        assert budget.parse_budget(10_001) == 10_001


def test_available_memory_is_within_the_limit() -> None:
    assert 0 < budget.available_bytes() < budget.memory_limit_bytes()


def _make_cgroup(folder: Path, limit: str, usage: int, cache: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(
        f"anon {usage - cache}\ninactive_file {cache}\n"
    )


def test_the_tightest_cgroup_limits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _make_cgroup(tmp_path / "a/b", "max", 3_000, 0)
    _make_cgroup(tmp_path / "a", "20000", 9_000, 1_000)
    _make_cgroup(tmp_path, "50000", 9_000, 1_000)
    names = ("memory.max", "memory.current")
    folders = (tmp_path / "a/b", tmp_path / "a", tmp_path, tmp_path / "gone")
    monkeypatch.setattr(
        budget, "_cgroup_files", lambda: [(at, *names) for at in folders]
    )
    assert budget.memory_limit_bytes() == 20_000
    # Its file cache does not count as used.
    assert budget.available_bytes() == 12_000


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 KB"),
        (300_000_000, "300.0 MB"),
        (4_250_000_000, "4.2 GB"),
        (-2_000, "-2.0 KB"),
    ],
)
def test_formats_bytes_for_people(size: int, text: str) -> None:
    assert budget.format_bytes(size) == text
