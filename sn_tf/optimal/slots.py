# SPDX-License-Identifier: Apache-2.0
"""Where the optimal planner may put what a schedule adds to its route.

A slot is a place for one op: for each op of the route its own, and before it,
in its stage, one for each op that may run once more there. Whatever is added
between two ops is added before a slot. Clones of one stage stand in the order
of the route, each at most once, unless schedules that are to be expressed need
more: then there is room for theirs too.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Sequence

from sn_tf.graphs import (
    NONE,
    RECOMPUTE,
    RUN,
    SWAP_IN,
    SWAP_OUT,
    SWAP_WAIT,
    Graph,
    Item,
    Schedule,
)
from sn_tf.options import Options

# An op, or None for a place that only parts, and what is added before it.
Part = tuple[int | None, list[Item]]


@dataclasses.dataclass(frozen=True)
class Slot:
    """A place for one op.

    Attributes:
        op: The op; None for a place that only parts what is added before it
            from what is added before the next.
        stage: Index in the route of the op before which it is.
        is_run: Whether the op runs here for the first time: it always does.
        is_open: Whether anything may be added before it: partners that the
            route has side by side stay so.
    """

    op: int | None
    stage: int
    is_run: bool = False
    is_open: bool = True


class Slots:
    """The slots of a graph, and what follows from them for each buffer.

    Attributes:
        graph: The graph.
        route: Ids of the ops that have slots, in the order in which they run
            first.
        before: Per op of `route`, and at the end, the ops that run before it
            and have none: they take neither time nor memory.
        slots: The slots in order.
        run: Per op of the route, the slot of its first run.
        first: Per buffer, the slot that writes it first.
        last: Per buffer, the last slot that may read it; `first` without any.
        kept: Per buffer, the last slot for which it must be there because it
            may not be taken away; `first` where it may.
        fixed_bytes: Per slot, what is in use whatever the plan: resident
            bytes, and variables that exist twice.
        roomy: The last slot of those, from the first one on, for which there
            is room whatever the plan; -1 without any.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        route: Sequence[int],
        *,
        budget_bytes: int,
        clones: Sequence[Collection[int]] | None = None,
        express: Iterable[Schedule] = (),
    ) -> None:
        """Makes the slots.

        Args:
            graph: The graph.
            options: Tell which buffers may move.
            route: Ids of its ops.
            budget_bytes: Where all has room in it, nothing is added.
            clones: Per stage, the only ops that may run once more there, of
                those for which it is of use. Defaults to None: all.
            express: Schedules for which there must be room.
        """
        self.graph = graph
        self._overwriters = {
            one.overwriter for one in graph.buffers if one.view
        }
        self.route: list[int] = []
        self.before: list[list[int]] = [[]]
        for op in route:
            if self._counts(op) or graph.ops[op].seconds > 0:
                self.route.append(op)
                self.before.append([])
            else:
                self.before[-1].append(op)
        self._position = {op: at for at, op in enumerate(self.route)}
        self._last_use = [
            max(
                (self._position[op] for op in self._readers(buffer)),
                default=self._position[graph.buffers[buffer].producer],
            )
            for buffer in range(len(graph.buffers))
        ]
        self._movable = [one.may_move(options) for one in graph.buffers]
        self._droppable = [
            movable or self._is_written_with_others(buffer)
            for buffer, movable in enumerate(self._movable)
        ]
        self._open = [self._is_open(at) for at in range(len(self.route))]
        stages: list[list[int | None]] = self._useful_clones()
        self._place(stages)
        self.roomy = self._find_roomy(budget_bytes)
        # Where there is room for all, nothing has to run again.
        begin = self.slots[self.roomy + 1].stage if self._is_tight else 0
        stages = [
            [op for op in useful if clones is None or op in clones[at]]
            if self._is_tight and at >= begin
            else []
            for at, useful in enumerate(stages)
        ]
        for schedule in express:
            for at, parts in enumerate(self.parts_of(schedule)):
                stages[at] = merged(stages[at], [op for op, _ in parts[:-1]])
        self._place(stages)
        self.roomy = self._find_roomy(budget_bytes)

    @property
    def _is_tight(self) -> bool:
        return self.roomy + 1 < len(self.slots)

    def reads(self, slot: int) -> list[int]:
        """The buffers that the slot's op reads; views take no memory."""
        return self._without_views(self._op(slot, "reads"))

    def writes(self, slot: int) -> list[int]:
        """The buffers that it writes."""
        return self._without_views(self._op(slot, "writes"))

    def workspace(self, slot: int) -> int:
        """Bytes of its op's workspace."""
        op = self.slots[slot].op
        return 0 if op is None else self.graph.ops[op].workspace_bytes

    def in_place(self, slot: int) -> tuple[int, tuple[int, ...]]:
        """Bytes of what its op may write in place, and the inputs of that."""
        op = self.slots[slot].op
        one = None if op is None else self.graph.ops[op]
        if one is None or not one.in_place_inputs:
            return 0, ()
        size = self.graph.buffers[one.in_place_output].bytes
        return size, one.in_place_inputs

    def seconds(self, slot: int) -> float:
        """Time of its op."""
        op = self.slots[slot].op
        return 0.0 if op is None else self.graph.ops[op].seconds

    def entry(self, slot: int) -> int:
        """The slot before which is added what `slot` needs."""
        while not self.slots[slot].is_open:
            slot -= 1
        return slot

    def exit(self, slot: int) -> int:
        """The last slot behind `slot` before which nothing can be added."""
        while slot + 1 < len(self.slots) and not self.slots[slot + 1].is_open:
            slot += 1
        return slot

    def may_move(self, buffer: int) -> bool:
        """Whether a plan may take the buffer away."""
        return self._movable[buffer]

    def managed(self) -> list[int]:
        """The buffers that take memory of their own."""
        return self._without_views(range(len(self.graph.buffers)))

    def parts_of(self, schedule: Schedule) -> list[list[Part]]:
        """The ops of each stage, the one of the route last.

        Where something is waited for behind a copy back that begins before the
        same op, the two are parted.
        """
        stages: list[list[Part]] = [[]]
        added: list[Item] = []
        for kind, number in schedule:
            if kind == SWAP_OUT or (
                kind == RUN and number not in self._position
            ):
                continue
            parted = kind == SWAP_WAIT and any(
                one == SWAP_IN for one, _ in added
            )
            if kind in (RUN, RECOMPUTE) or parted:
                stages[-1].append((None if parted else number, added))
                added = []
            if kind == RUN:
                stages.append([])
            elif kind in (SWAP_WAIT, SWAP_IN):
                added.append((kind, number))
        return stages[:-1]

    # ---- Clones -------------------------------------------------------------

    def _useful_clones(self) -> list[list[int | None]]:
        """Per stage, the ops whose buffers something may need from there on."""
        needed: set[int] = set()
        stages: list[list[int | None]] = [[] for _ in self.route]
        for stage in reversed(range(len(self.route))):
            reads = self.graph.ops[self.route[stage]].reads
            ahead = self._without_views(reads)
            needed.update(ahead)
            ahead = sorted(needed)
            clones: set[int] = set()
            while ahead:
                buffer = ahead.pop()
                op = self.graph.buffers[buffer].producer
                if op in clones or not self._may_rerun(buffer, stage):
                    continue
                clones.add(op)
                inputs = self._without_views(self.graph.ops[op].reads)
                ahead += inputs
                needed.update(inputs)
            # Before what needs no memory, nothing need run again yet.
            if self._open[stage] and self._counts(self.route[stage]):
                stages[stage] = [
                    *sorted(clones, key=self._position.__getitem__)
                ]
        return stages

    def _may_rerun(self, buffer: int, stage: int) -> bool:
        """Whether it may be missing there, and its op may run again."""
        op = self.graph.buffers[buffer].producer
        stays = not self._droppable[buffer] and stage <= self._last_use[buffer]
        return (
            not stays
            and self.graph.ops[op].pure
            and self._position[op] < stage
            and all(
                self._is_intact(read, stage)
                for read in self.graph.ops[op].reads
            )
        )

    def _is_written_with_others(self, buffer: int) -> bool:
        """Whether it is written anew whenever something else is."""
        op = self.graph.ops[self.graph.buffers[buffer].producer]
        return op.pure and len(op.writes) > 1

    def _is_intact(self, buffer: int, stage: int) -> bool:
        """Whether a view still shows what it showed."""
        one = self.graph.buffers[buffer]
        return (
            not one.view
            or one.overwriter == NONE
            or self._position[one.overwriter] >= stage
        )

    def _is_open(self, at: int) -> bool:
        partner = self.graph.ops[self.route[at]].partner
        return (
            at == 0
            or partner == NONE
            or self.route[at - 1] != partner
            or bool(self.before[at])
        )

    def _counts(self, op: int) -> bool:
        """Whether memory, or what may run again, is different for it."""
        one = self.graph.ops[op]
        touches = one.reads or one.writes or one.workspace_bytes
        return bool(touches) or op in self._overwriters

    # ---- Slots --------------------------------------------------------------

    def _place(self, stages: Sequence[Sequence[int | None]]) -> None:
        self.slots: list[Slot] = []
        self.run: dict[int, int] = {}
        for stage, op in enumerate(self.route):
            self.slots += [Slot(clone, stage) for clone in stages[stage]]
            self.run[op] = len(self.slots)
            self.slots.append(
                Slot(op, stage, is_run=True, is_open=self._open[stage])
            )
        buffers = self.graph.buffers
        self.first = [self.run[one.producer] for one in buffers]
        self.last = list(self.first)
        for slot in range(len(self.slots)):
            for buffer in self.reads(slot):
                self.last[buffer] = slot
        self.kept = [
            self.first[buffer]
            if self._droppable[buffer]
            else self.run[self.route[self._last_use[buffer]]]
            for buffer in range(len(buffers))
        ]
        self.fixed_bytes = self._fixed_bytes()

    def _fixed_bytes(self) -> list[int]:
        fixed = [self.graph.resident_bytes] * len(self.slots)
        last: dict[int, tuple[int, int]] = {}
        for buffer, one in enumerate(self.graph.buffers):
            if not one.view or one.overwriter == NONE:
                continue
            end = self.run[self.route[self._last_use[buffer]]]
            known = last.get(one.overwriter, (0, 0))
            last[one.overwriter] = max(known, (end, one.bytes))
        for op, (end, size) in last.items():
            if end > self.run[op]:
                for slot in range(self.run[op], end + 1):
                    fixed[slot] += size
        return fixed

    def _find_roomy(self, budget_bytes: int) -> int:
        change = [0] * (len(self.slots) + 1)
        for buffer in self.managed():
            change[self.first[buffer]] += self.graph.buffers[buffer].bytes
            change[self.last[buffer] + 1] -= self.graph.buffers[buffer].bytes
        most = itertools.accumulate(change)
        for slot, live in zip(range(len(self.slots)), most, strict=False):
            live += self.fixed_bytes[slot] + self.workspace(slot)
            if live > budget_bytes:
                # Room for it may have to be made before its partner.
                return self.entry(slot) - 1
        return len(self.slots) - 1

    def _op(self, slot: int, name: str) -> tuple[int, ...]:
        op = self.slots[slot].op
        return () if op is None else getattr(self.graph.ops[op], name)

    def _without_views(self, buffers: Iterable[int]) -> list[int]:
        return [one for one in buffers if not self.graph.buffers[one].view]

    def _readers(self, buffer: int) -> list[int]:
        return [
            op for op, one in enumerate(self.graph.ops) if buffer in one.reads
        ]


def merged(
    one: Sequence[int | None], other: Sequence[int | None]
) -> list[int | None]:
    """A shortest sequence that has both in it, each in its order."""
    # Of what is left behind each pair of positions.
    rest: dict[tuple[int, int], list[int | None]] = {}
    for i in range(len(one), -1, -1):
        for j in range(len(other), -1, -1):
            if i == len(one) or j == len(other):
                rest[i, j] = [*one[i:], *other[j:]]
            elif one[i] == other[j]:
                rest[i, j] = [one[i], *rest[i + 1, j + 1]]
            else:
                rest[i, j] = min(
                    [one[i], *rest[i + 1, j]],
                    [other[j], *rest[i, j + 1]],
                    key=len,
                )
    return rest[0, 0]
