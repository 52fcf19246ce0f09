# SPDX-License-Identifier: Apache-2.0
"""A clock for bounds: no schedule adds less than it says.

The one of clock.py is exact, and slow to be solved where there are many
slots. This one goes by stages, and knows of the links only how much they can
carry: of what is not back yet when a stage begins, all that is read by the end
of some stage has to be carried in between, and of what is gone by then, all
that was written behind some stage. In what order, and whether in one piece,
does not matter to it.
"""

from __future__ import annotations

import dataclasses

from sn_tf.graphs import Costs
from sn_tf.optimal.linear import Sum, total
from sn_tf.optimal.programme import Memory


@dataclasses.dataclass
class _Window:
    """Copies back of one buffer that are read by the end of the same stage.

    Attributes:
        buffer: The buffer.
        due: The stage.
        begun: Per stage, what part of it may begin there.
    """

    buffer: int
    due: int
    begun: dict[int, Sum]


class LooseClock:
    """Times of a loose programme's choices.

    Attributes:
        added: Seconds, in units, that no schedule of them adds less than.
    """

    def __init__(self, memory: Memory, costs: Costs, *, unit: float) -> None:
        """Adds what holds for the times to the programme of `memory`.

        Args:
            memory: The programme, made loose.
            costs: What copies cost.
            unit: Seconds of one.
        """
        self._memory = memory
        self._slots = memory.slots
        self._programme = memory.programme
        buffers = self._slots.graph.buffers
        self._copy = {
            buffer: costs.copy_seconds(buffers[buffer].bytes) / unit
            for buffer in memory.entries
        }
        self._run_clock(unit)
        self._carry_out()
        self._carry_back()
        route = sum(one.seconds for one in self._slots.graph.ops) / unit
        self.added = self._end[-1] - route + memory.hidden_seconds(costs, unit)
        self._programme.require(self.added)

    def _run_clock(self, unit: float) -> None:
        """Makes the times at which each stage is ready, begins and ends."""
        self._ready: list[Sum] = []
        self._begin: list[Sum] = []
        self._end: list[Sum] = []
        now = Sum()
        for number, slot in enumerate(self._slots.slots):
            if slot.is_run and self._copy:
                ready, begin = (
                    self._programme.number(),
                    self._programme.number(),
                )
                self._programme.require(ready - now, begin - ready)
                self._ready.append(ready)
                self._begin.append(begin)
                now = begin
            seconds = self._slots.seconds(number) / unit
            now += self._memory.runs(number) * seconds
            if slot.is_run:
                self._end.append(now)

    def _stage(self, slot: int) -> int:
        return self._slots.slots[slot].stage

    def _carry_out(self) -> None:
        written = {
            buffer: self._stage(self._slots.exit(self._slots.first[buffer]))
            for buffer in self._copy
        }
        gone_by: dict[int, dict[int, Sum]] = {}
        for buffer, waits in self._memory.waits.items():
            for slot in waits:
                gone = self._memory.choices.gone[buffer, slot]
                gone_by.setdefault(self._stage(slot), {})[buffer] = gone
        for stage, gone_here in gone_by.items():
            for begin in sorted(set(written.values())):
                carried = total(
                    gone * self._copy[buffer]
                    for buffer, gone in gone_here.items()
                    if written[buffer] >= begin
                )
                if begin < stage and carried.terms:
                    spent = self._ready[stage] - self._end[begin]
                    self._programme.require(spent - carried)

    def _carry_back(self) -> None:
        windows = self._find_windows()
        for due in sorted({window.due for window in windows}):
            # Of each window, what begins in the stage or behind it.
            later = [Sum() for _ in windows]
            for stage in range(due, -1, -1):
                begins = False
                for index, window in enumerate(windows):
                    if window.due <= due and stage in window.begun:
                        later[index] = later[index] + window.begun[stage]
                        begins = True
                if not begins:
                    continue
                before = self._end[stage - 1] if stage else Sum()
                carried = total(
                    one * self._copy[window.buffer]
                    for one, window in zip(later, windows, strict=True)
                )
                self._programme.require(self._begin[due] - before - carried)

    def _find_windows(self) -> list[_Window]:
        windows: dict[tuple[int, int], _Window] = {}
        for (buffer, slot), back in self._memory.choices.back.items():
            due = self._due(buffer, slot)
            if due is None:
                continue
            window = windows.setdefault((buffer, due), _Window(buffer, due, {}))
            stage = self._stage(slot)
            window.begun[stage] = window.begun.get(stage, Sum()) + back
        return list(windows.values())

    def _due(self, buffer: int, entry: int) -> int | None:
        """The stage by whose end what comes back there has been read."""
        slots = self._slots
        if not slots.slots[entry].is_run:
            return self._stage(entry)  # By the clone itself.
        for slot in range(entry, slots.last[buffer] + 1):
            if slots.slots[slot].is_run and buffer in slots.reads(slot):
                return self._stage(slot)
        return None
