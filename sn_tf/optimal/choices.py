# SPDX-License-Identifier: Apache-2.0
"""The choices of the optimal planner's programme."""

from __future__ import annotations

import dataclasses

from sn_tf.optimal.linear import Sum

# Of a buffer and a slot.
At = tuple[int, int]


@dataclasses.dataclass
class Choices:
    """The variables that are 0 or 1, by what they are of.

    Attributes:
        clone: Of a slot: its op runs there once more.
        out: Of a buffer: it is copied out.
        gone: Of a buffer and a slot: the copy out was waited for before it, or
            before an earlier one.
        back: Of a buffer and a slot: a copy back begins before it.
        under_way: Of a buffer and a slot: a copy back that began before an
            earlier slot may not have ended when this one is ready.
        busy: Of a slot: some copy back begins before it.
        behind: Of two buffers whose copies out begin side by side: the first
            is behind the second.
    """

    clone: dict[int, Sum] = dataclasses.field(default_factory=dict)
    out: dict[int, Sum] = dataclasses.field(default_factory=dict)
    gone: dict[At, Sum] = dataclasses.field(default_factory=dict)
    back: dict[At, Sum] = dataclasses.field(default_factory=dict)
    under_way: dict[At, Sum] = dataclasses.field(default_factory=dict)
    busy: dict[int, Sum] = dataclasses.field(default_factory=dict)
    behind: dict[tuple[int, int], Sum] = dataclasses.field(default_factory=dict)
