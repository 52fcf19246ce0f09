# SPDX-License-Identifier: Apache-2.0
"""The clock of the optimal planner's programme: when each slot begins.

Exact, and not only a bound: the clock says of a schedule what the planner's own
simulation says of it (grappler_pass/planner/timeline.h). Two things make that
linear. A copy out is queued as soon as its buffer is written, so that the order
of that queue is fixed. And a copy back may as well begin before the last slot
at which it does not begin later, so that there is at most one under way when a
slot is ready, and those which begin before one slot do so in the order in which
they are needed.

    ready   what is waited for before the slot has left
    begin   what the slot's op reads is back
"""

from __future__ import annotations

import itertools

from sn_tf.graphs import Costs
from sn_tf.optimal.linear import Sum, total
from sn_tf.optimal.programme import Memory


class Clock:
    """Times of a programme's choices.

    Attributes:
        added: Seconds, in units, that the choices add to the route.
    """

    def __init__(self, memory: Memory, costs: Costs, *, unit: float) -> None:
        """Adds what holds for the times to the programme of `memory`.

        Args:
            memory: The programme.
            costs: What copies cost.
            unit: Seconds of one.
        """
        self._memory = memory
        self._slots = memory.slots
        self._programme = memory.programme
        self._choices = memory.choices
        self._unit = unit
        buffers = self._slots.graph.buffers
        self._copy = {
            buffer: costs.copy_seconds(buffers[buffer].bytes) / unit
            for buffer in memory.entries
        }
        self._longest = max(self._copy.values(), default=0.0)
        # Of the runs alone: when each slot would begin, and the end.
        self._earliest = [
            0.0,
            *itertools.accumulate(
                self._slots.seconds(slot) / unit if one.is_run else 0.0
                for slot, one in enumerate(self._slots.slots)
            ),
        ]
        self._ready: list[Sum] = []
        self._begin: list[Sum] = []
        self._run_clock()
        self._queue_out()
        self._queue_back()
        added = self._end_of(len(self._begin) - 1) - self._earliest[-1]
        self.added = added + memory.hidden_seconds(costs, unit)

    def _run_clock(self) -> None:
        for slot in range(len(self._slots.slots)):
            if slot <= self._slots.roomy:
                at = Sum({}, self._earliest[slot])
                self._ready.append(at)
                self._begin.append(at)
                continue
            ended = self._end_of(slot - 1) if slot else Sum()
            ready = ended
            if self._slots.slots[slot].is_open and self._memory.entries:
                ready = self._programme.number()
                self._programme.require(ready - ended)
            begin = ready
            if any(buffer in self._copy for buffer in self._slots.reads(slot)):
                begin = self._programme.number()
                self._programme.require(begin - ready)
            self._ready.append(ready)
            self._begin.append(begin)

    def _end_of(self, slot: int) -> Sum:
        seconds = self._slots.seconds(slot) / self._unit
        return self._begin[slot] + self._memory.runs(slot) * seconds

    # ---- Copies out ---------------------------------------------------------

    def _queue_out(self) -> None:
        groups: dict[int, list[int]] = {}
        for buffer in self._copy:
            written = self._slots.exit(self._slots.first[buffer])
            groups.setdefault(written, []).append(buffer)
        free: Sum | float = 0.0
        # Of copies so far: when each begins at the earliest, and how long it
        # and all behind it take.
        tails: list[tuple[float, float]] = []
        for written in sorted(groups):
            group = groups[written]
            begin = self._end_of(written)
            taken = total(
                self._choices.out[buffer] * self._copy[buffer]
                for buffer in group
            )
            longest = sum(self._copy[buffer] for buffer in group)
            tails = [(at, tail + longest) for at, tail in tails]
            tails.append((self._earliest[written + 1], longest))
            for buffer in group:
                before = self._before_in_group(buffer, group)
                end = self._programme.number()
                own = self._choices.out[buffer] * self._copy[buffer] + before
                self._programme.require(end - begin - own, end - free - own)
                self._wait_for(buffer, begin, end, tails)
            next_free = self._programme.number()
            self._programme.require(
                next_free - begin - taken, next_free - free - taken
            )
            free = next_free

    def _before_in_group(self, buffer: int, group: list[int]) -> Sum:
        """Time of the group's copies that are queued before the buffer's."""
        behind, out = self._choices.behind, self._choices.out
        for other in group:
            if buffer < other:
                one = behind[buffer, other] = self._programme.choice()
                two = behind[other, buffer] = self._programme.choice()
                both = out[buffer] + out[other] - 1.0
                self._programme.require(one + two - both)
        if buffer == group[-1]:
            for a, b, c in itertools.permutations(group, 3):
                circle = behind[a, b] + behind[b, c] + behind[c, a]
                self._programme.require(2.0 - circle)
        return total(
            behind[buffer, other] * self._copy[other]
            for other in group
            if other != buffer
        )

    def _wait_for(
        self,
        buffer: int,
        begin: Sum,
        end: Sum,
        tails: list[tuple[float, float]],
    ) -> None:
        for slot in self._memory.waits[buffer]:
            gone = self._choices.gone[buffer, slot]
            ready = self._ready[slot]
            self._programme.require(ready - begin - gone * self._copy[buffer])
            # What the queue may be late by when the slot is ready.
            late = max(tail - (self._earliest[slot] - at) for at, tail in tails)
            if late > 0:
                self._programme.require(ready - end + (1.0 - gone) * late)

    # ---- Copies back --------------------------------------------------------

    def _queue_back(self) -> None:
        at_entry: dict[int, list[int]] = {}
        for buffer, entries in self._memory.entries.items():
            for slot in entries:
                at_entry.setdefault(slot, []).append(buffer)
        free: Sum | float = 0.0
        before: int | None = None
        for slot in sorted(at_entry):
            if before is not None:
                self._pass_on(before, slot, free)
            self._read(slot, free, at_entry[slot])
            free = self._begin_copies(slot, free, at_entry[slot])
            before = slot
        if before is not None:
            end = self._slots.exit(before) + 1
            ready = (
                self._ready[end]
                if end < len(self._ready)
                else self._end_of(end - 1)
            )
            self._programme.require(ready - free)

    def _begin_copies(
        self, slot: int, free: Sum | float, buffers: list[int]
    ) -> Sum:
        """Returns when the link is free behind the copies of that slot."""
        busy = self._choices.busy[slot] = self._programme.choice()
        backs = [self._choices.back[buffer, slot] for buffer in buffers]
        taken = total(
            back * self._copy[buffer]
            for back, buffer in zip(backs, buffers, strict=True)
        )
        next_free = self._programme.number()
        self._programme.require(
            next_free - free - taken, next_free - self._ready[slot] - taken
        )
        for back in backs:
            self._programme.require(busy - back)
        return next_free

    def _pass_on(self, before: int, slot: int, free: Sum | float) -> None:
        """Says what may be under way when `slot` is ready.

        Args:
            before: The entry before.
            slot: The entry.
            free: When the link is free behind what began there.
        """
        choices, require = self._choices, self._programme.require
        passed = range(before, self._slots.exit(before) + 1)
        none = Sum()
        under_way = []
        ready = self._ready[slot] - free
        for buffer in self._copy:
            began = choices.back.get((buffer, before))
            if began is None or (buffer, slot) not in choices.back:
                continue
            readers = [
                self._memory.runs(one)
                for one in passed
                if buffer in self._slots.reads(one)
            ]
            if any(not reader.terms for reader in readers):
                continue  # A run has waited for it.
            was = choices.under_way.get((buffer, before), none)
            now = choices.under_way[buffer, slot] = self._programme.choice()
            require(was + began - now, self._memory.there(buffer, slot) - now)
            require(*(1.0 - now - reader for reader in readers))
            # Others begin behind it only if it ends in time.
            require(2.0 - was - now - choices.busy[before])
            ready += now * self._copy[buffer]
            under_way.append(now)
        require(ready, 1.0 - total(under_way))

    def _read(self, entry: int, free: Sum | float, buffers: list[int]) -> None:
        """Lets what is read behind an entry wait for what comes back.

        Args:
            entry: The slot.
            free: When the link is free of what began before.
            buffers: What may come back there.
        """
        choices, require = self._choices, self._programme.require
        due: set[int] = set()
        for slot in range(entry, self._slots.exit(entry) + 1):
            reads = [one for one in self._slots.reads(slot) if one in buffers]
            due.update(reads)
            # What is needed first comes first.
            own = total(
                choices.back[buffer, entry] * self._copy[buffer]
                for buffer in sorted(due)
            )
            if reads:
                require(self._begin[slot] - self._ready[entry] - own)
            for buffer in reads:
                coming = choices.back[buffer, entry] + choices.under_way.get(
                    (buffer, entry), Sum()
                )
                idle = 2.0 - coming - self._memory.runs(slot)
                require(self._begin[slot] - free - own + idle * self._longest)
