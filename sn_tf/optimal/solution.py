# SPDX-License-Identifier: Apache-2.0
"""From values of the programme's variables to a schedule."""

from __future__ import annotations

from typing import Any

from sn_tf.graphs import (
    RECOMPUTE,
    RUN,
    SWAP_IN,
    SWAP_OUT,
    SWAP_WAIT,
    Graph,
    Item,
    Schedule,
)
from sn_tf.optimal.linear import Sum
from sn_tf.optimal.programme import Memory


def schedule_of(memory: Memory, values: Any) -> list[Item]:
    """The schedule that the programme's variables stand for.

    Args:
        memory: The programme.
        values: Of its variables.
    """
    slots, choices = memory.slots, memory.choices

    def chosen(one: Sum | None) -> bool:
        return one is not None and is_chosen(one, values)

    outs: dict[int, list[int]] = {}
    for buffer, out in choices.out.items():
        if chosen(out):
            written = slots.exit(slots.first[buffer])
            outs.setdefault(written, []).append(buffer)
    waited: set[int] = set()
    schedule: list[Item] = []
    stage = -1
    for number, slot in enumerate(slots.slots):
        if slot.stage != stage:
            stage = slot.stage
            schedule += [(RUN, op) for op in slots.before[stage]]
        for buffer in choices.out:
            if buffer not in waited and chosen(
                choices.gone.get((buffer, number))
            ):
                waited.add(buffer)
                schedule.append((SWAP_WAIT, buffer))
        back = [
            buffer
            for buffer in choices.out
            if chosen(choices.back.get((buffer, number)))
        ]
        back.sort(key=lambda buffer: _next_read(memory, values, buffer, number))
        schedule += [(SWAP_IN, buffer) for buffer in back]
        if slot.op is not None and chosen(memory.runs(number)):
            schedule.append((RUN if slot.is_run else RECOMPUTE, slot.op))
        schedule += [
            (SWAP_OUT, buffer)
            for buffer in _in_order(memory, values, outs.get(number, []))
        ]
    schedule += [(RUN, op) for op in slots.before[-1]]
    return _without_unused(slots.graph, schedule)


def is_chosen(choice: Sum, values: Any) -> bool:
    """Whether a variable that is 0 or 1 is 1, but for rounding."""
    return choice.value(values) > 0.5


def _next_read(memory: Memory, values: Any, buffer: int, begin: int) -> int:
    """The first slot from `begin` on whose op runs and reads the buffer."""
    slots = memory.slots
    for slot in range(begin, slots.last[buffer] + 1):
        runs = is_chosen(memory.runs(slot), values)
        if runs and buffer in slots.reads(slot):
            return slot
    return len(slots.slots)


def _in_order(memory: Memory, values: Any, buffers: list[int]) -> list[int]:
    """Buffers whose copies out begin side by side."""

    def before(buffer: int) -> int:
        behind = (
            memory.choices.behind.get((buffer, other)) for other in buffers
        )
        return sum(one is not None and is_chosen(one, values) for one in behind)

    # A list is empty while it is sorted itself.
    return sorted(buffers, key=before)


def _without_unused(graph: Graph, schedule: Schedule) -> list[Item]:
    """Drops what is computed or copied and not read: it may cost nothing."""
    wanted: set[int] = set()
    came: set[int] = set()
    kept: list[Item] = []
    for kind, number in reversed(schedule):
        if kind in (RUN, RECOMPUTE):
            op = graph.ops[number]
            if kind == RECOMPUTE and not wanted & set(op.writes):
                continue
            wanted = wanted - set(op.writes) | set(op.reads)
        elif kind == SWAP_IN:
            if number not in wanted:
                continue
            wanted.remove(number)
            came.add(number)
        elif number not in came:
            continue
        elif kind == SWAP_OUT:
            wanted.add(number)
        kept.append((kind, number))
    return kept[::-1]
