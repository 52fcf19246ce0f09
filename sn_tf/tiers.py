# SPDX-License-Identifier: Apache-2.0
"""Tiers: where buffers go that leave a device's memory."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from sn_tf import _library


@dataclasses.dataclass(frozen=True)
class TierStats:
    """One tier of the pool; sizes in bytes, since the process began.

    Attributes:
        name: `"host"`, `"compressed"` or `"file"`.
        folder: Folder of the file; `""` for other tiers.
        limit_bytes: Most that the tier may take.
        taken_bytes: Taken now, of memory or of the disk.
        stored_bytes: Size of the buffers that it stores now; more than
            `taken_bytes` where they are compressed.
        write_bytes_per_s: Bandwidth of copies to it, measured at the start.
        read_bytes_per_s: Bandwidth of copies from it.
        out_bytes: Copied to it.
        in_bytes: Copied back.
        out_taken_bytes: Taken by what was copied to it.
        out_seconds: Time that copying to it took.
        in_seconds: Time that copying back took.
        faults: Copies that failed, other than for lack of room.
        broken: Whether it is not used any more, after faults in a row.
    """

    name: str
    folder: str
    limit_bytes: int
    taken_bytes: int
    stored_bytes: int
    write_bytes_per_s: float
    read_bytes_per_s: float
    out_bytes: int
    in_bytes: int
    out_taken_bytes: int
    out_seconds: float
    in_seconds: float
    faults: int
    broken: bool

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TierStats:
        """Builds it from what the library writes."""
        return cls(
            **{
                field.name: values[field.name]
                for field in dataclasses.fields(cls)
            }
        )

    @property
    def compression(self) -> float:
        """Bytes copied to the tier for each byte that they took there."""
        return self.out_bytes / max(self.out_taken_bytes, 1)


@dataclasses.dataclass(frozen=True)
class ChosenTiers:
    """What `choose` came to: see `sn_tf.options.Options`."""

    tiers: str
    link_bandwidth_bytes_per_s: int


def choose(tiers: str, swap_dir: str, device: str) -> ChosenTiers:
    """Makes the tiers of a CPU, so that what is wrong shows before training.

    Args:
        tiers: A list, or `"auto"`: files, or host memory where there can be
            none.
        swap_dir: Folder of files; `""` for the system's temporary ones.
        device: Device whose memory is planned.

    Raises:
        ValueError: If the tiers cannot be made.
    """
    if tiers != "auto":
        return ChosenTiers(tiers, _bandwidth(_make(tiers, swap_dir)))
    try:
        made = _make("file", swap_dir)
    except ValueError as error:
        warnings.warn(
            f"Buffers of {device} are swapped to host memory, which saves no "
            f"memory of this machine: {error}",
            RuntimeWarning,
            stacklevel=2,
        )
        return ChosenTiers("host", _bandwidth(_make("host", "")))
    return ChosenTiers("file", _bandwidth(made))


def choose_for_accelerator(tiers: str, swap_dir: str, device: str) -> str:
    """Makes the tiers behind an accelerator's pinned host memory.

    Args:
        tiers: A list, or `"auto"`: pinned memory up to three quarters of this
            machine's, then files.
        swap_dir: Folder of files; `""` for the system's temporary ones.
        device: Device whose memory is planned.

    Returns:
        The tiers as a list.

    Raises:
        ValueError: If the tiers cannot be made.
    """
    if tiers == "auto":
        try:
            _make("file", swap_dir)
        except ValueError as error:
            warnings.warn(
                f"Buffers of {device} are swapped to host memory only: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
            return "host"
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return f"host:{pages // 4 * 3},file"
    rest = [
        tier for tier in tiers.split(",") if not tier.strip().startswith("host")
    ]
    if rest:
        _make(",".join(rest), swap_dir)
    return tiers


@functools.cache
def _make(tiers: str, swap_dir: str) -> Sequence[Mapping[str, Any]]:
    """The tiers as the library describes them, with their warnings given."""
    made = _library.library().make_tiers(tiers, swap_dir)
    for tier in made:
        if tier["warning"]:
            warnings.warn(tier["warning"], RuntimeWarning, stacklevel=3)
    return made


def _bandwidth(made: Sequence[Mapping[str, Any]]) -> int:
    """That of the slowest tier and direction: 1, 2 or 5 times a power of ten.

    It must be so coarse, or plans would differ from one process to the next.
    """
    slowest = min(
        min(tier["write_bytes_per_s"], tier["read_bytes_per_s"])
        for tier in made
    )
    power = 10 ** math.floor(math.log10(slowest))
    return int(
        max(step * power for step in (1, 2, 5) if step * power <= slowest)
    )
