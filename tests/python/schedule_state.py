# SPDX-License-Identifier: Apache-2.0
"""What a part of a schedule leads to, for searches through all of them."""

from __future__ import annotations

import dataclasses

from sn_tf.graphs import Item

_EPSILON = 1e-12


@dataclasses.dataclass(frozen=True)
class State:
    """What a part of a schedule leads to. Times are from now on.

    Attributes:
        added: Seconds added to the route so far.
        ran: Ops of the route that have run.
        here: Buffers in memory.
        leaving: Per buffer whose copy out is not waited for yet, its end.
        stored: Buffers whose copies out were waited for.
        coming: Per buffer whose copy back has not ended, its end.
        out_free: When the link out is free.
        back_free: When the link back is free.
        fresh: Buffers just written, which may be copied out now.
        own: Of `here`, those whose memory no copy refers to.
        came: Of `here`, those that are copies back.
        over: Buffers that may not be written or come back any more.
        items: The part of the schedule.
    """

    added: float
    ran: int
    here: frozenset[int]
    leaving: tuple[tuple[int, float], ...]
    stored: frozenset[int]
    coming: tuple[tuple[int, float], ...]
    out_free: float
    back_free: float
    fresh: tuple[int, ...]
    own: frozenset[int] = frozenset()
    came: frozenset[int] = frozenset()
    over: frozenset[int] = frozenset()
    items: tuple[Item, ...] = ()

    def then(self, *items: Item) -> State:
        """The state, after those items too."""
        return dataclasses.replace(self, items=self.items + items)

    @property
    def kind(self) -> tuple[object, ...]:
        """Only states of one kind are compared."""
        leaving = tuple(buffer for buffer, _ in self.leaving)
        return self.ran, leaving, self.stored, self.fresh

    def is_no_worse(self, other: State) -> bool:
        """Whether it can be continued as the other, at no more cost."""
        coming = dict(other.coming)
        return (
            self.added <= other.added + _EPSILON
            and self.here >= other.here
            and self.own >= other.own
            and self.own | self.came >= other.own | other.came
            and self.over <= other.over
            and self.out_free <= other.out_free + _EPSILON
            and self.back_free <= other.back_free + _EPSILON
            and all(
                mine[1] <= its[1] + _EPSILON
                for mine, its in zip(self.leaving, other.leaving, strict=True)
            )
            and all(
                end <= coming.get(buffer, 0.0) + _EPSILON
                for buffer, end in self.coming
                if buffer in other.here
            )
        )
