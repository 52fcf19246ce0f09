# SPDX-License-Identifier: Apache-2.0
"""Graphs with fewer ops, for planners that are too slow for all of them.

A coarse graph is a graph like any other, and not an approximation of what it
was made of that a plan could be carried back to: planners are compared on it.
What it keeps is what makes planning hard: which buffers wait for how long, and
what it takes to compute them again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from sn_tf.graphs import NONE, Buffer, Graph, Op

# What may be lost with two ops: memory, in parts of the largest op's, and time,
# in parts of the step's, added.
_HARDLY = 0.05
_ANYTHING = 1e9


@dataclasses.dataclass
class _Group:
    """Ops that become one.

    Attributes:
        ops: Their ids, in the order of the route.
        reads: What they read and others write.
        writes: What they write and others read, or nobody.
        inner_bytes: What they need beside that, at most.
        seconds: Time of all.
        pure: Whether each may run again.
    """

    ops: list[int]
    reads: set[int]
    writes: set[int]
    inner_bytes: int
    seconds: float
    pure: bool


def coarsened(graph: Graph, route: Sequence[int], most_ops: int) -> Graph:
    """A graph of fewer ops, whose route is their order.

    Variables are all read by one op, at the beginning. Then neighbours in the
    route become one op, those first with which least is lost: what the one op
    holds beyond the larger of the two, and the time that it takes to run the
    one again for the sake of the other. Those with which hardly anything is
    lost do in any case. What only runs once is not joined with what can run
    again and is read by others. What is joined does not write in place any
    more.

    Args:
        graph: The graph.
        route: Ids of its ops, in the order in which they run.
        most_ops: Ops from which on nothing more is joined. Where ops that
            cannot be joined are more than that, they stay.
    """
    joining = _Joining(graph, route)
    while joining.join_best(
        _HARDLY if len(joining.groups) <= most_ops else _ANYTHING
    ):
        pass
    return joining.graph()


class _Joining:
    """The groups of a graph, which become fewer."""

    def __init__(self, graph: Graph, route: Sequence[int]) -> None:
        self._graph = graph
        self._overwriters = _overwriters(graph, route)
        self._readers: list[set[int]] = [set() for _ in graph.buffers]
        self.groups: list[_Group] = []
        hoisted = [op for op in route if self._reads_variable(op)]
        if hoisted:
            self.groups.append(self._group_of(hoisted))
        self.groups += [
            self._group_of([op]) for op in route if op not in set(hoisted)
        ]
        for op, one in enumerate(graph.ops):
            for buffer in one.reads:
                self._readers[buffer].add(op)

        self._layer = max([1, *map(self._layer_bytes, self.groups)])
        self._step = max(1e-9, graph.step_seconds)

    def join_best(self, most_loss: float) -> bool:
        """Joins the two neighbours with which least is lost.

        Returns:
            Whether there are two with which no more is lost than that.
        """
        losses = [
            (self._loss(one, other), at)
            for at, (one, other) in enumerate(
                zip(self.groups, self.groups[1:], strict=False)
            )
        ]
        least, at = min(losses, default=(float("inf"), 0))
        if least > most_loss:
            return False
        self.groups[at : at + 2] = [self._joined(*self.groups[at : at + 2])]
        return True

    def graph(self) -> Graph:
        """The graph of the groups."""
        number_of = {
            op: number
            for number, group in enumerate(self.groups)
            for op in group.ops
        }
        kept = sorted(set().union(*(group.writes for group in self.groups)))
        renumbered = {buffer: number for number, buffer in enumerate(kept)}

        def ids(buffers: Iterable[int]) -> tuple[int, ...]:
            return tuple(sorted(renumbered[buffer] for buffer in buffers))

        ops = tuple(
            Op(
                name=self._graph.ops[group.ops[0]].name,
                type=self._graph.ops[group.ops[0]].type,
                after=(number - 1,) if number else (),
                reads=ids(group.reads),
                writes=ids(group.writes),
                workspace_bytes=group.inner_bytes,
                in_place_output=renumbered.get(self._in_place(group)[0], NONE),
                in_place_inputs=ids(self._in_place(group)[1]),
                seconds=group.seconds,
                pure=group.pure,
            )
            for number, group in enumerate(self.groups)
        )
        return Graph(
            ops,
            tuple(self._renumbered(buffer, number_of) for buffer in kept),
            self._graph.resident_bytes,
        )

    def _renumbered(self, buffer: int, number_of: dict[int, int]) -> Buffer:
        one = self._graph.buffers[buffer]
        overwriter = self._overwriters[buffer]
        return dataclasses.replace(
            one,
            producer=number_of[one.producer],
            overwriter=number_of.get(overwriter, NONE),
        )

    def _reads_variable(self, op: int) -> bool:
        one = self._graph.ops[op]
        return (
            not one.reads
            and one.workspace_bytes == 0
            and bool(one.writes)
            and all(self._graph.buffers[buffer].view for buffer in one.writes)
        )

    def _group_of(self, ops: list[int]) -> _Group:
        members = [self._graph.ops[op] for op in ops]
        return _Group(
            ops,
            set().union(*(op.reads for op in members)),
            set().union(*(op.writes for op in members)),
            max(op.workspace_bytes for op in members),
            sum(op.seconds for op in members),
            all(op.pure for op in members),
        )

    def _in_place(self, group: _Group) -> tuple[int, tuple[int, ...]]:
        """Output and inputs, of what is one op still."""
        op = self._graph.ops[group.ops[0]]
        if len(group.ops) > 1 or not op.in_place_inputs:
            return NONE, ()
        return op.in_place_output, op.in_place_inputs

    def _bytes(self, buffers: set[int]) -> int:
        return sum(
            self._graph.buffers[buffer].bytes
            for buffer in buffers
            if not self._graph.buffers[buffer].view
        )

    def _layer_bytes(self, group: _Group) -> int:
        output, _ = self._in_place(group)
        shared = 0 if output == NONE else self._graph.buffers[output].bytes
        own = self._bytes(group.reads | group.writes) + group.inner_bytes
        return own - shared

    def _joined(self, one: _Group, other: _Group) -> _Group:
        ops = one.ops + other.ops
        inner = {
            buffer
            for buffer in one.writes | other.writes
            if self._readers[buffer] and self._readers[buffer] <= set(ops)
        }
        first = self._bytes(one.writes & inner)
        second = self._bytes((other.reads | other.writes) & inner)
        return _Group(
            ops,
            (one.reads | other.reads) - one.writes - other.writes,
            (one.writes | other.writes) - inner,
            max(one.inner_bytes + first, other.inner_bytes + second),
            one.seconds + other.seconds,
            one.pure and other.pure,
        )

    def _loss(self, one: _Group, other: _Group) -> float:
        """Of memory, in parts of the step's, and of time, in parts of it."""
        joined = self._joined(one, other)
        for group in (one, other):
            # It can run again, and could not any more.
            if group.pure and not joined.pure and group.writes & joined.writes:
                return float("inf")
        overwriters = {
            overwriter
            for overwriter in self._overwriters
            if overwriter in joined.ops
        }
        views = [
            buffer
            for buffer in one.writes
            if self._graph.buffers[buffer].view and buffer in other.reads
        ]
        if len(overwriters) > 1 or views:
            return float("inf")
        held = self._layer_bytes(joined) - max(
            self._layer_bytes(one), self._layer_bytes(other)
        )
        again = 0.0
        if joined.pure and one.writes & joined.writes:
            again = min(one.seconds, other.seconds)
        return held / self._layer + again / self._step


def _overwriters(graph: Graph, route: Sequence[int]) -> list[int]:
    """Per buffer its overwriter, where that makes a difference to a plan."""
    position = {op: at for at, op in enumerate(route)}
    # What may be read behind each position, if all that may run again does.
    behind: list[set[int]] = [set() for _ in range(len(route) + 1)]
    for at in reversed(range(len(route))):
        needed = set(behind[at + 1])
        ahead = list(graph.ops[route[at]].reads)
        while ahead:
            buffer = ahead.pop()
            producer = graph.ops[graph.buffers[buffer].producer]
            if buffer not in needed and producer.pure:
                ahead += producer.reads
            needed.add(buffer)
        behind[at] = needed
    overwriters = [one.overwriter for one in graph.buffers]
    for buffer, overwriter in enumerate(overwriters):
        if overwriter == NONE:
            continue
        at = position[overwriter]
        if not any(
            position[op] > at or (one.pure and behind[at + 1] & set(one.writes))
            for op, one in enumerate(graph.ops)
            if buffer in one.reads
        ):
            overwriters[buffer] = NONE
    return overwriters
