# SPDX-License-Identifier: Apache-2.0
"""Budgets: what a caller may write, and what it means in bytes."""

from __future__ import annotations

import operator
import re
import warnings
from pathlib import Path
from typing import SupportsIndex

Budget = str | float | SupportsIndex

_UNIT_BYTES = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}
_NUMBER_AND_UNIT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*|%)")
# No machine has so many, and the library counts in 64 bits.
_TOO_MANY_BYTES = 2**60
_EXPECTED_SIZE = (
    "Expected a positive number of bytes below 2^60, a string such as '4GB' "
    "(10^9 bytes each) or '800MiB' (2^20 bytes each)"
)


def parse_budget(
    budget: Budget, *, in_use_bytes: int = 0, memory_bytes: int = 0
) -> int:
    """Converts a budget as written by a caller into bytes.

    Args:
        budget: Bytes, a string of a number and a unit (B, KB, MB, GB, TB:
            powers of 1000; KiB, MiB, GiB, TiB: powers of 1024), a percentage
            of the machine's memory (the cgroup's limit where that is
            smaller), or `"auto"`: what is in use plus what is available now.
        in_use_bytes: What the device's arena has in use; only `"auto"` needs
            it. Defaults to 0.
        memory_bytes: Size of the memory of a device that has its own; it then
            stands for the machine's, and for what is available. Defaults to
            0: the device uses the machine's.

    Returns:
        The budget in bytes.

    Raises:
        ValueError: If `budget` is none of those or not positive.
    """
    size = _relative_size(budget, in_use_bytes, memory_bytes)
    if size is None:
        size = _absolute_size(budget)
    if size is None or not 0 < size < _TOO_MANY_BYTES:
        raise ValueError(
            f"Invalid value for argument `budget`. Received: budget={budget!r}."
            f" {_EXPECTED_SIZE}, '60%' (of this machine's memory), or 'auto'."
        )
    memory = memory_bytes or memory_limit_bytes()
    if size > memory and memory_bytes:
        warnings.warn(
            f"sn_tf: the budget of {size} bytes is above the {memory} bytes "
            "that the device has.",
            stacklevel=2,
        )
    elif size > memory:
        warnings.warn(
            f"sn_tf: the budget of {size} bytes is above the {memory} bytes "
            "of memory that this process may use, so the system may end the "
            "process before the budget is reached.",
            stacklevel=2,
        )
    return size


def parse_size(size: Budget, *, argument: str) -> int:
    """Converts a size as written by a caller into bytes.

    Args:
        size: Bytes, or a string of a number and a unit; see `parse_budget`.
        argument: Name of the argument, for the message.

    Returns:
        The size in bytes.

    Raises:
        ValueError: If `size` is neither or not positive.
    """
    size_bytes = _absolute_size(size)
    if size_bytes is None or not 0 < size_bytes < _TOO_MANY_BYTES:
        raise ValueError(
            f"Invalid value for argument `{argument}`. Received: "
            f"{argument}={size!r}. {_EXPECTED_SIZE}."
        )
    return size_bytes


def memory_limit_bytes() -> int:
    """Most memory this process may use: physical, or its cgroup's limit."""
    limits = [_meminfo_bytes("MemTotal")]
    limits += [limit for limit, _ in _cgroup_limits_and_usages()]
    return min(limits)


def available_bytes() -> int:
    """Memory that this process could still take without paging."""
    free = [_meminfo_bytes("MemAvailable")]
    free += [limit - usage for limit, usage in _cgroup_limits_and_usages()]
    return max(0, min(free))


def format_bytes(size: float) -> str:
    """Bytes for people: `format_bytes(3e8)` is '300.0 MB'."""
    for unit, unit_bytes in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if abs(size) >= unit_bytes:
            return f"{size / unit_bytes:.1f} {unit}"
    return f"{size:.0f} B"


def _relative_size(
    size: Budget, in_use_bytes: int, memory_bytes: int
) -> int | None:
    """Bytes of "auto" and percentages; None for anything else."""
    if not isinstance(size, str):
        return None
    text = size.strip()
    if text.lower() == "auto":
        return memory_bytes or in_use_bytes + available_bytes()
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match is None or match[2] != "%":
        return None
    whole = memory_bytes or memory_limit_bytes()
    return int(whole * float(match[1]) / 100)


def _absolute_size(size: Budget) -> int | None:
    """Bytes of numbers, with or without a unit; None for anything else."""
    if isinstance(size, bool):
        return None
    if isinstance(size, float):
        return int(size) if size.is_integer() else None
    if not isinstance(size, str):
        try:
            return operator.index(size)
        except TypeError:
            return None
    match = _NUMBER_AND_UNIT.fullmatch(size.strip())
    if match is None or match[2].upper() not in _UNIT_BYTES:
        return None
    number, unit_bytes = match[1], _UNIT_BYTES[match[2].upper()]
    # Whole numbers stay exact at any size.
    return (
        int(float(number) * unit_bytes)
        if "." in number
        else int(number) * unit_bytes
    )


def _meminfo_bytes(key: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0]) * 1024
    raise RuntimeError(
        f"/proc/meminfo has no line {key!r}, so the memory of this machine "
        "is not known. Give the budget in bytes."
    )


def _cgroup_limits_and_usages() -> list[tuple[int, int]]:
    """(limit, usage) of every memory cgroup above this process that limits."""
    found = []
    for folder, limit_file, usage_file in _cgroup_files():
        limit = _read_int(folder / limit_file)
        usage = _read_int(folder / usage_file)
        if limit is not None and usage is not None:
            found.append((limit, usage - _reclaimable_bytes(folder)))
    return found


def _cgroup_files() -> list[tuple[Path, str, str]]:
    """Folders to look in and the file names of their cgroup version."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    files = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root = Path("/sys/fs/cgroup")
            names = ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            root = Path("/sys/fs/cgroup/memory")
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        # A container sees its own cgroup as the root, under any path.
        folder = root / path.lstrip("/")
        for at in (folder, *folder.parents):
            if at == root or root in at.parents:
                files.append((at, *names))
    return files


def _reclaimable_bytes(folder: Path) -> int:
    """File cache that the cgroup's usage counts but gives up when asked."""
    try:
        lines = (folder / "memory.stat").read_text().splitlines()
    except OSError:
        return 0
    values = dict(line.split(maxsplit=1) for line in lines)
    name = "total_inactive_file"
    return int(values.get(name, values.get("inactive_file", "0")))


def _read_int(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # Not there, or "max".
        return None
