# SPDX-License-Identifier: Apache-2.0
"""The least time that any schedule of a tiny graph adds, by trying them all.

Shares nothing with the optimal planner but the graph. Items are appended one by
one, whatever a plan may hold (grappler_pass/planner/plan.h): the next op of the
route, any op that may run again, copies, waits. States that cost least so far
are continued first, so the first complete schedule is a best one; a state that
another is no worse than in every respect is not continued.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections.abc import Iterator

from schedule_state import State

from sn_tf.graphs import (
    NONE,
    RECOMPUTE,
    RUN,
    SWAP_IN,
    SWAP_OUT,
    SWAP_WAIT,
    Costs,
    Graph,
    Op,
    Schedule,
)
from sn_tf.options import Options


class TooManyError(Exception):
    """The graph is not tiny enough."""


class Search:
    """All schedules of a graph within a budget."""

    def __init__(
        self, graph: Graph, options: Options, route: list[int], costs: Costs
    ) -> None:
        self._graph = graph
        self._options = options
        self._route = route
        self._costs = costs
        self._position = {op: at for at, op in enumerate(route)}
        self._useful = self._find_useful()
        self._last_use = [
            max(
                (
                    self._position[op]
                    for op, one in enumerate(graph.ops)
                    if buffer in one.reads
                ),
                default=-1,
            )
            for buffer in range(len(graph.buffers))
        ]

    def best(self, most_states: int) -> tuple[float, Schedule] | None:
        """What the best schedule adds, and it; None where none has room.

        Raises TooManyError where it is not found in so many states.
        """
        nothing = frozenset[int]()
        begin = State(0.0, 0, nothing, (), nothing, (), 0.0, 0.0, ())
        number = itertools.count()
        ahead = [(0.0, next(number), begin)]
        seen: dict[object, list[State]] = {}
        while ahead:
            _, _, state = heapq.heappop(ahead)
            if state.ran == len(self._route):
                return state.added, state.items
            if any(one.is_no_worse(state) for one in seen.get(state.kind, ())):
                continue
            seen.setdefault(state.kind, []).append(state)
            most_states -= 1
            if most_states < 0:
                raise TooManyError
            for one in self._continued(state):
                heapq.heappush(ahead, (one.added, next(number), one))
        return None

    def _continued(self, state: State) -> Iterator[State]:
        if state.ran == len(self._route):
            return
        yield from self._with_op(state, self._route[state.ran], True)
        if self._is_between_partners(state.ran):
            return
        if self._is_between_partners(state.ran + 1):
            for buffer, _ in state.leaving:
                yield self._waited(state, {buffer})
        useful = self._useful[state.ran]
        for buffer in state.fresh:
            if buffer in useful:
                yield self._copied_out(state, buffer)
        for buffer in state.stored - state.here - state.over:
            if buffer in useful:
                yield from self._copied_back(state, buffer)
        for op in self._route[: state.ran]:
            if self._may_run_again(state, op):
                yield from self._with_op(state, op, False)

    def _find_useful(self) -> list[set[int]]:
        """Per number of ops that have run, what may be read from there on."""
        useful: list[set[int]] = []
        for ran in range(len(self._route) + 1):
            found: set[int] = set()
            ahead = [
                buffer
                for op in self._route[ran:]
                for buffer in self._graph.ops[op].reads
            ]
            while ahead:
                buffer = ahead.pop()
                if buffer in found:
                    continue
                found.add(buffer)
                op = self._graph.buffers[buffer].producer
                if self._graph.ops[op].pure:
                    ahead += self._graph.ops[op].reads
            useful.append(found)
        return useful

    def _is_between_partners(self, ran: int) -> bool:
        if not 0 < ran < len(self._route):
            return False
        before, behind = self._route[ran - 1 : ran + 1]
        return self._graph.ops[before].partner == behind

    def _may_run_again(self, state: State, op: int) -> bool:
        one = self._graph.ops[op]
        leaving = {buffer for buffer, _ in state.leaving}
        return (
            one.pure
            and not (leaving | state.over) & set(one.writes)
            and self._useful[state.ran] & (set(one.writes) - state.here)
            and all(
                not self._is_overwritten(buffer, state.ran)
                for buffer in one.reads
            )
        )

    def _is_overwritten(self, buffer: int, ran: int) -> bool:
        one = self._graph.buffers[buffer]
        return (
            one.view
            and one.overwriter != NONE
            and self._position[one.overwriter] < ran
        )

    # ---- Memory -------------------------------------------------------------

    def _with_room(
        self, state: State, needed: set[int], extra: int
    ) -> Iterator[State]:
        """The state with room for `needed` and `extra` bytes more.

        What is dropped is dropped as late as can be, and none for nothing. What
        is being copied out is waited for then: no sooner.
        """
        left = self._options.budget_bytes - extra - self._fixed_bytes(state.ran)
        left -= self._bytes(state.here | needed)
        if left >= 0:
            yield state
            return
        leaving = {buffer for buffer, _ in state.leaving}
        # Nothing is waited for there.
        between = self._is_between_partners(state.ran)
        may_go = sorted(
            buffer
            for buffer in state.here - needed
            if self._may_drop(buffer, state.ran)
            and not (between and buffer in leaving)
        )
        enough: list[set[int]] = []
        for count in range(1, len(may_go) + 1):
            for some in map(set, itertools.combinations(may_go, count)):
                if any(fewer <= some for fewer in enough):
                    continue
                if left + self._bytes(some) >= 0:
                    enough.append(some)
                    yield self._without(state, some)

    def _may_drop(self, buffer: int, ran: int) -> bool:
        one = self._graph.buffers[buffer]
        op = self._graph.ops[one.producer]
        return (
            one.may_move(self._options)
            or self._last_use[buffer] < ran
            # Written anew with what else its op writes.
            or (op.pure and len(op.writes) > 1)
        )

    def _without(self, state: State, dropped: set[int]) -> State:
        state = self._waited(state, dropped)
        return dataclasses.replace(
            state,
            here=state.here - dropped,
            own=state.own - dropped,
            came=state.came - dropped,
            coming=tuple(one for one in state.coming if one[0] not in dropped),
        )

    def _waited(self, state: State, buffers: set[int]) -> State:
        """The state when those of the buffers that are leaving have left."""
        waits = [one for one in state.leaving if one[0] in buffers]
        state = self._later(state, max([0.0, *(end for _, end in waits)]))
        return dataclasses.replace(
            state.then(*((SWAP_WAIT, buffer) for buffer, _ in waits)),
            leaving=tuple(
                one for one in state.leaving if one[0] not in buffers
            ),
            stored=state.stored.union(buffer for buffer, _ in waits),
        )

    def _bytes(self, buffers: frozenset[int] | set[int]) -> int:
        return sum(self._graph.buffers[buffer].bytes for buffer in buffers)

    def _fixed_bytes(self, ran: int) -> int:
        """Resident bytes, and variables that exist twice, for the next op."""
        twice: dict[int, int] = {}
        for buffer, one in enumerate(self._graph.buffers):
            if not one.view or one.overwriter == NONE:
                continue
            if (
                self._position[one.overwriter] <= ran <= self._last_use[buffer]
                and self._last_use[buffer] > self._position[one.overwriter]
            ):
                twice[one.overwriter] = one.bytes
        return self._graph.resident_bytes + sum(twice.values())

    # ---- Items --------------------------------------------------------------

    def _with_op(self, state: State, op: int, is_next: bool) -> Iterator[State]:
        one = self._graph.ops[op]
        views = {
            buffer
            for buffer in one.reads + one.writes
            if self._graph.buffers[buffer].view
        }
        reads = set(one.reads) - views
        writes = set(one.writes) - views
        if not reads <= state.here:
            return
        for fitting, ended in self._ways(state, one, reads | writes, is_next):
            wanted = [end for buffer, end in fitting.coming if buffer in reads]
            ready = self._later(fitting, max([0.0, *wanted]))
            done = self._later(
                ready, one.seconds, added=0.0 if is_next else one.seconds
            )
            fresh: tuple[int, ...] = ()
            if is_next:
                movable = (
                    buffer
                    for buffer in writes
                    if self._graph.buffers[buffer].may_move(self._options)
                    and self._options.tiers != "none"
                )
                between = self._is_between_partners(state.ran)
                before = set(done.fresh if between else ()) - ended
                fresh = (*sorted(before), *sorted(movable))
            here = (done.here | writes) - ended
            ran = state.ran + is_next
            keeping = {buffer for buffer, _ in done.leaving}
            if is_next and not fresh:
                here &= self._useful[ran] | keeping
            item = (RUN if is_next else RECOMPUTE, op)
            yield dataclasses.replace(
                done.then(item),
                ran=ran,
                here=here,
                own=(done.own | writes) & here,
                came=(done.came - writes) & here,
                over=done.over | (ended & done.came),
                coming=tuple(
                    one for one in done.coming if one[0] not in writes
                ),
                fresh=fresh,
            )

    def _ways(
        self, state: State, op: Op, needed: set[int], is_next: bool
    ) -> Iterator[tuple[State, set[int]]]:
        """States with room for the op, and which inputs end with it.

        Those that it may write into end where it writes in place.
        """
        for fitting in self._with_room(state, needed, op.workspace_bytes):
            yield fitting, set()
        ended = set(op.in_place_inputs)
        ran = state.ran + is_next
        if not ended or not all(
            buffer in state.own | state.came and self._may_drop(buffer, ran)
            for buffer in ended
        ):
            return
        shared = self._graph.buffers[op.in_place_output].bytes
        extra = op.workspace_bytes - shared
        for fitting in self._with_room(state, needed, extra):
            yield fitting, ended

    def _copied_out(self, state: State, buffer: int) -> State:
        size = self._graph.buffers[buffer].bytes
        end = state.out_free + self._costs.copy_seconds(size)
        return dataclasses.replace(
            state.then((SWAP_OUT, buffer)),
            added=state.added + self._costs.hidden_seconds(size),
            leaving=tuple(sorted([*state.leaving, (buffer, end)])),
            own=state.own - {buffer},
            out_free=end,
            fresh=tuple(one for one in state.fresh if one != buffer),
        )

    def _copied_back(self, state: State, buffer: int) -> Iterator[State]:
        one = self._graph.buffers[buffer]
        end = state.back_free + self._costs.copy_seconds(one.bytes)
        cost = self._costs.hidden_seconds(one.bytes) + one.apart_seconds
        for fitting in self._with_room(state, {buffer}, 0):
            yield dataclasses.replace(
                fitting.then((SWAP_IN, buffer)),
                added=fitting.added + cost,
                here=fitting.here | {buffer},
                came=fitting.came | {buffer},
                coming=tuple(sorted([*fitting.coming, (buffer, end)])),
                back_free=end,
                fresh=(),
            )

    def _later(
        self, state: State, seconds: float, added: float | None = None
    ) -> State:
        """The state after `seconds`; without `added`, all of it is a stall."""

        def left(
            ends: tuple[tuple[int, float], ...],
        ) -> Iterator[tuple[int, float]]:
            for buffer, end in ends:
                yield buffer, max(0.0, end - seconds)

        return dataclasses.replace(
            state,
            added=state.added + (seconds if added is None else added),
            leaving=tuple(left(state.leaving)),
            coming=tuple(one for one in left(state.coming) if one[1] > 0),
            out_free=max(0.0, state.out_free - seconds),
            back_free=max(0.0, state.back_free - seconds),
        )
