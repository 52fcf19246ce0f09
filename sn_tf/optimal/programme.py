# SPDX-License-Identifier: Apache-2.0
"""The integer programme of the optimal planner: choices, and their memory.

Over the slots of a graph (slots.py) it chooses which clones run, which
buffers are copied out, before which slot each copy out is waited for, and
before which copies back begin. A buffer is there for a slot if it was for the
one before, or was written by that, or comes back; what is there must have room
in the budget. clock.py adds what the choices cost.
"""

from __future__ import annotations

import bisect

from sn_tf.graphs import Costs
from sn_tf.optimal.choices import At, Choices
from sn_tf.optimal.in_place import InPlace
from sn_tf.optimal.linear import Programme, Sum, total
from sn_tf.optimal.slots import Slots

_NEVER, _ALWAYS = Sum(), Sum({}, 1.0)


class Memory:
    """What a schedule may be, and that it has room.

    Attributes:
        programme: The programme.
        slots: The slots that it is over.
        choices: Its choices; those of the clock are empty.
        waits: Per buffer that may be copied out, the slots before which it may
            be waited for, ascending.
        entries: Per such buffer, the slots before which it may come back.
    """

    def __init__(
        self,
        programme: Programme,
        slots: Slots,
        *,
        swaps: bool,
        budget: Sum | float,
        unit: float,
        loose: bool = False,
    ) -> None:
        """Adds the choices, and what must hold for them, to a programme.

        Args:
            programme: The programme.
            slots: The slots.
            swaps: Whether anything may be copied out.
            budget: Most bytes in use, in units.
            unit: Bytes of one.
            loose: For a bound only, with fewer variables: buffers leave when
                their stage begins, and come back when they are read. Defaults
                to False.
        """
        self.programme = programme
        self.slots = slots
        self.choices = Choices()
        self._unit = unit
        self._loose = loose
        self._there: dict[At, Sum] = {}
        self.waits: dict[int, list[int]] = {}
        self.entries: dict[int, list[int]] = {}
        if swaps:
            self._find_entries()
        for number, slot in enumerate(slots.slots):
            if not slot.is_run and slot.op is not None:
                self.choices.clone[number] = self.programme.choice()
        for buffer in self.entries:
            self._add_copies(buffer)
        self._events = {
            buffer: self._events_of(buffer) for buffer in slots.managed()
        }
        for buffer in slots.managed():
            self._follow(buffer)
        for number in self.choices.clone:
            self._read_by_clone(number)
        self._in_place = InPlace(
            programme,
            slots,
            self.choices,
            self.there,
            self._events,
            loose=loose,
        )
        for number in range(max(0, slots.roomy + 1), len(slots.slots)):
            self._fit(number, budget)

    def there(self, buffer: int, slot: int) -> Sum:
        """Whether the buffer is in memory while the slot's op runs.

        What that op writes itself is not.
        """
        slots = self.slots
        if not slots.first[buffer] < slot <= slots.last[buffer]:
            return _NEVER
        read = slots.slots[slot].is_run and buffer in slots.reads(slot)
        if read or slot <= self._certain(buffer):
            return _ALWAYS
        # What is dropped is dropped as soon as it can be.
        events = self._events[buffer]
        event = events[bisect.bisect_right(events, slot) - 1]
        if (buffer, event) not in self._there:
            # Else it is so in any best solution.
            new = self.programme.choice if self._loose else self.programme.share
            self._there[buffer, event] = new()
        return self._there[buffer, event]

    def runs(self, slot: int) -> Sum:
        """Whether the slot's op runs there."""
        return self.choices.clone.get(slot, _ALWAYS)

    def hidden_seconds(self, costs: Costs, unit: float) -> Sum:
        """What copies cost even if nothing waits for them.

        Args:
            costs: What copies cost.
            unit: Seconds of one in the sum.
        """
        buffers, choices = self.slots.graph.buffers, self.choices
        hidden = Sum()
        for buffer, entries in self.entries.items():
            seconds = costs.hidden_seconds(buffers[buffer].bytes) / unit
            apart = buffers[buffer].apart_seconds / unit
            backs = total(choices.back[buffer, slot] for slot in entries)
            hidden += choices.out[buffer] * seconds + backs * (seconds + apart)
        return hidden

    def _certain(self, buffer: int) -> int:
        """The last slot for which the buffer is there in any case."""
        slots = self.slots
        return max(slots.first[buffer], slots.kept[buffer], slots.roomy)

    def _find_entries(self) -> None:
        slots = self.slots
        for buffer in slots.managed():
            if not slots.may_move(buffer):
                continue
            begin = max(slots.roomy, slots.exit(slots.first[buffer])) + 1
            found = [
                slot
                for slot in range(begin, slots.last[buffer] + 1)
                if slots.slots[slot].is_open
            ]
            if not found:
                continue
            self.waits[buffer] = self.entries[buffer] = found
            if self._loose:
                firsts = {slots.slots[one].stage: one for one in found[::-1]}
                self.waits[buffer] = sorted(firsts.values())
                self.entries[buffer] = [
                    slot
                    for slot in found
                    if slots.slots[slot].is_run or buffer in slots.reads(slot)
                ]

    def _add_copies(self, buffer: int) -> None:
        require, choices = self.programme.require, self.choices
        out = choices.out[buffer] = self.programme.choice()
        gone = _NEVER
        for slot in sorted({*self.waits[buffer], *self.entries[buffer]}):
            if slot in self.waits[buffer]:
                before, gone = gone, self.programme.choice()
                choices.gone[buffer, slot] = gone
                require(gone - before)
            if slot in self.entries[buffer]:
                back = choices.back[buffer, slot] = self.programme.choice()
                # Nothing comes back before what does not run: the next slot is
                # as good.
                require(gone - back, self.runs(slot) - back)
        require(out - gone)
        # What never comes back need not leave.
        backs = (choices.back[buffer, slot] for slot in self.entries[buffer])
        require(total(backs) - out)

    def _events_of(self, buffer: int) -> list[int]:
        """The slots for which what is there may be other than before."""
        slots = self.slots
        begin, end = self._certain(buffer) + 1, slots.last[buffer]
        events = {begin, *self.waits.get(buffer, ())}
        events.update(self.entries.get(buffer, ()))
        for slot in range(begin - 1, end + 1):
            if buffer in slots.reads(slot) or buffer in slots.writes(slot):
                events.update((slot, slot + 1))
        return sorted(event for event in events if begin <= event <= end)

    def _follow(self, buffer: int) -> None:
        slots, require = self.slots, self.programme.require
        gone = _NEVER
        for slot in self._events[buffer]:
            there = self.there(buffer, slot)
            back = self.choices.back.get((buffer, slot), _NEVER)
            written = _NEVER
            if buffer in slots.writes(slot - 1):
                written = self.runs(slot - 1)
            require(self.there(buffer, slot - 1) + written + back - there)
            require(there - back)
            if buffer in slots.writes(slot):
                # A clone writes what is not there.
                require(1.0 - there - self.runs(slot))
            if buffer in self.choices.out:
                # A copy under way holds its memory.
                gone = self.choices.gone.get((buffer, slot), gone)
                require(there - self.choices.out[buffer] + gone)

    def _read_by_clone(self, slot: int) -> None:
        clone = self.choices.clone[slot]
        for buffer in self.slots.reads(slot):
            self.programme.require(self.there(buffer, slot) - clone)

    def _fit(self, slot: int, budget: Sum | float) -> None:
        slots, buffers = self.slots, self.slots.graph.buffers
        own = slots.workspace(slot) + sum(
            buffers[buffer].bytes
            for buffer in slots.writes(slot)
            # Else it is counted as there.
            if not slots.first[buffer] < slot <= slots.kept[buffer]
        )
        held = total(
            self.there(buffer, slot) * (buffers[buffer].bytes / self._unit)
            for buffer in slots.managed()
        )
        held += slots.fixed_bytes[slot] / self._unit
        held += self.runs(slot) * (own / self._unit)
        held -= self._in_place.shared_bytes(slot) * (1 / self._unit)
        self.programme.require(budget - held)
