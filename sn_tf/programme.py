# SPDX-License-Identifier: Apache-2.0
"""The integer programme of the optimal planner: choices, and their memory.

Over the slots of a graph (sn_tf/slots.py) it chooses which clones run, which
buffers are copied out, before which slot each copy out is waited for, and
before which copies back begin. A buffer is there for a slot if it was for the
one before, or was written by that, or comes back; what is there must have room
in the budget. sn_tf/clock.py adds what the choices cost.
"""

from __future__ import annotations

import dataclasses

from sn_tf.linear import Programme, Sum, total
from sn_tf.slots import Slots

_NEVER, _ALWAYS = Sum(), Sum({}, 1.0)

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


class Memory:
    """What a schedule may be, and that it has room.

    Attributes:
        programme: The programme.
        slots: The slots that it is over.
        choices: Its choices; those of the clock are empty.
        entries: Per buffer that may be copied out, the slots before which it
            may be waited for or come back, ascending.
    """

    def __init__(
        self,
        programme: Programme,
        slots: Slots,
        *,
        swaps: bool,
        budget: Sum | float,
        unit: float,
    ) -> None:
        """Adds the choices, and what must hold for them, to a programme.

        Args:
            programme: The programme.
            slots: The slots.
            swaps: Whether anything may be copied out.
            budget: Most bytes in use, in units.
            unit: Bytes of one.
        """
        self.programme = programme
        self.slots = slots
        self.choices = Choices()
        self._unit = unit
        self._there: dict[At, Sum] = {}
        self.entries = self._find_entries() if swaps else {}
        for number, slot in enumerate(slots.slots):
            if not slot.is_run and slot.op is not None:
                self.choices.clone[number] = self.programme.choice()
        for buffer, entries in self.entries.items():
            self._add_copies(buffer, entries)
        for buffer in slots.managed():
            self._follow(buffer)
        for number in self.choices.clone:
            self._read_by_clone(number)
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
        if read or slot <= max(slots.kept[buffer], slots.roomy):
            return _ALWAYS
        if (buffer, slot) not in self._there:
            self._there[buffer, slot] = self.programme.share()
        return self._there[buffer, slot]

    def runs(self, slot: int) -> Sum:
        """Whether the slot's op runs there."""
        return self.choices.clone.get(slot, _ALWAYS)

    def _find_entries(self) -> dict[int, list[int]]:
        slots = self.slots
        entries = {}
        for buffer in slots.managed():
            if not slots.may_move(buffer):
                continue
            begin = max(slots.roomy, slots.exit(slots.first[buffer])) + 1
            entries[buffer] = [
                slot
                for slot in range(begin, slots.last[buffer] + 1)
                if slots.slots[slot].is_open
            ]
        return {buffer: found for buffer, found in entries.items() if found}

    def _add_copies(self, buffer: int, entries: list[int]) -> None:
        require, choices = self.programme.require, self.choices
        out = choices.out[buffer] = self.programme.choice()
        gone_before = _NEVER
        for slot in entries:
            gone = choices.gone[buffer, slot] = self.programme.choice()
            back = choices.back[buffer, slot] = self.programme.choice()
            require(gone - gone_before, gone - back)
            # Nothing comes back before what does not run: the next slot is as
            # good.
            require(self.runs(slot) - back)
            gone_before = gone
        require(out - gone_before)
        # What never comes back need not leave.
        require(total(choices.back[buffer, slot] for slot in entries) - out)

    def _follow(self, buffer: int) -> None:
        slots, require = self.slots, self.programme.require
        begin = max(slots.first[buffer], slots.kept[buffer], slots.roomy)
        gone = _NEVER
        for slot in range(begin + 1, slots.last[buffer] + 1):
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
        self.programme.require(budget - held)
