# SPDX-License-Identifier: Apache-2.0
"""A schedule as values of the optimal planner's variables, to begin from."""

from __future__ import annotations

import dataclasses

from sn_tf.graphs import SWAP_IN, SWAP_OUT, SWAP_WAIT, Costs, Schedule
from sn_tf.optimal.linear import Sum
from sn_tf.optimal.programme import Memory
from sn_tf.optimal.slots import Slots

# Of seconds that are compared.
_EPSILON = 1e-12


@dataclasses.dataclass
class _Visit:
    """A slot that a schedule uses, and what it does before it.

    Attributes:
        slot: Its number.
        waits: Buffers that are waited for.
        backs: Buffers of which copies back begin, in order.
        ready: When the slot is ready, in seconds.
        ends: When each of those copies ends.
    """

    slot: int
    waits: list[int]
    backs: list[int]
    ready: float = 0.0
    ends: dict[int, float] = dataclasses.field(default_factory=dict)


def start_of(
    memory: Memory, costs: Costs, schedule: Schedule
) -> dict[int, float] | None:
    """Values of the programme's choices that stand for a schedule.

    They make a step no slower: copies back begin later where that is as good.

    Args:
        memory: The programme.
        costs: What copies cost.
        schedule: The schedule, for which the programme's slots have room.

    Returns:
        The values by variable; None where the slots have no room for it.
    """
    visits = _visits_of(memory.slots, schedule)
    if visits is None:
        return None
    outs = [buffer for kind, buffer in schedule if kind == SWAP_OUT]
    copy = {
        buffer: costs.copy_seconds(one.bytes)
        for buffer, one in enumerate(memory.slots.graph.buffers)
    }
    _run(memory.slots, visits, outs, copy)
    _delay(memory.slots, visits, copy)
    _run(memory.slots, visits, outs, copy)
    return _values(memory, visits, outs)


def _visits_of(slots: Slots, schedule: Schedule) -> list[_Visit] | None:
    visits = []
    number = 0
    for parts in slots.parts_of(schedule):
        for index, (op, items) in enumerate(parts):
            is_run = index == len(parts) - 1
            while number < len(slots.slots) and (
                slots.slots[number].op != op
                or slots.slots[number].is_run != is_run
            ):
                if slots.slots[number].is_run:
                    return None
                number += 1
            if number == len(slots.slots):
                return None
            waits = [one for kind, one in items if kind == SWAP_WAIT]
            backs = [one for kind, one in items if kind == SWAP_IN]
            if (waits or backs) and not slots.slots[number].is_open:
                return None
            visits.append(_Visit(number, waits, backs))
            number += 1
    return visits


def _run(
    slots: Slots, visits: list[_Visit], outs: list[int], copy: dict[int, float]
) -> None:
    """Fills in times, as grappler_pass/planner/timeline.h has them."""
    now = out_free = back_free = 0.0
    left: dict[int, float] = {}
    came: dict[int, float] = {}
    for visit in visits:
        now = max([now, *(left[buffer] for buffer in visit.waits)])
        visit.ready = now
        visit.ends = {}
        for buffer in visit.backs:
            back_free = max(now, back_free) + copy[buffer]
            visit.ends[buffer] = came[buffer] = back_free
        reads = slots.reads(visit.slot)
        now = max([now, *(came.get(buffer, 0.0) for buffer in reads)])
        now += slots.seconds(visit.slot)
        for buffer in outs:
            if slots.exit(slots.first[buffer]) == visit.slot:
                out_free = max(now, out_free) + copy[buffer]
                left[buffer] = out_free


def _reader(slots: Slots, visits: list[_Visit], at: int, buffer: int) -> int:
    """Index of the first visit from `at` on that reads the buffer."""
    for index in range(at, len(visits)):
        if buffer in slots.reads(visits[index].slot):
            return index
    return len(visits) - 1


def _delay(slots: Slots, visits: list[_Visit], copy: dict[int, float]) -> None:
    """Lets each copy back begin before the last visit that is as good."""
    moved: list[list[tuple[int, int]]] = [[] for _ in visits]
    for at, visit in enumerate(visits):
        for buffer in visit.backs:
            begins = visit.ends[buffer] - copy[buffer]
            reader = _reader(slots, visits, at, buffer)
            target = at
            for index in range(at, reader + 1):
                is_open = slots.slots[visits[index].slot].is_open
                if is_open and visits[index].ready <= begins + _EPSILON:
                    target = index
            moved[target].append((reader, buffer))
    for visit, backs in zip(visits, moved, strict=True):
        # What is needed first comes first.
        backs.sort(key=lambda one: one[0])
        visit.backs = [buffer for _, buffer in backs]


def _values(
    memory: Memory, visits: list[_Visit], outs: list[int]
) -> dict[int, float] | None:
    choices = memory.choices
    chosen: list[Sum | None] = [choices.out.get(buffer) for buffer in outs]
    for visit in visits:
        slot = visit.slot
        if not memory.slots.slots[slot].is_run and _is_op(memory.slots, slot):
            chosen.append(choices.clone.get(slot))
        chosen += [choices.back.get((buffer, slot)) for buffer in visit.backs]
        if visit.backs:
            chosen.append(choices.busy.get(slot))
        for buffer in visit.waits:
            chosen += [
                choices.gone[buffer, entry]
                for entry in memory.entries.get(buffer, [])
                if entry >= slot
            ]
    chosen += _under_way(memory, visits)
    chosen += [
        behind
        for (one, other), behind in choices.behind.items()
        if {one, other} <= set(outs) and outs.index(one) > outs.index(other)
    ]
    if None in chosen:
        return None
    on = {variable for one in chosen if one for variable in one.terms}
    return {
        variable: float(variable in on)
        for kind in vars(choices).values()
        for choice in kind.values()
        for variable in choice.terms
    }


def _is_op(slots: Slots, slot: int) -> bool:
    return slots.slots[slot].op is not None


def _under_way(memory: Memory, visits: list[_Visit]) -> list[Sum]:
    found: list[Sum] = []
    for at, visit in enumerate(visits):
        for buffer, end in visit.ends.items():
            reader = _reader(memory.slots, visits, at, buffer)
            for index in range(at + 1, reader + 1):
                if end <= visits[index].ready + _EPSILON:
                    break
                found += [
                    choice
                    for slot in range(
                        visits[index - 1].slot + 1, visits[index].slot + 1
                    )
                    if (choice := memory.choices.under_way.get((buffer, slot)))
                    is not None
                ]
    return found
