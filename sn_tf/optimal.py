# SPDX-License-Identifier: Apache-2.0
"""Plans that no other beats, of small graphs: to judge planners by.

`optimal_plan` writes the choices that a plan is made of as an integer programme
(sn_tf/programme.py, sn_tf/clock.py), in the manner of Checkmate (Jain et al.,
MLSys 2020) with swaps added, and has it solved with HiGHS. It is slow: minutes
for some tens of ops.

What it is the best of: schedules over the route that every policy has, which
run each op once more at most between two ops of the route, in the order of the
route, and wait for copies out before they begin copies back there; and what can
be made of the rivals that it is given.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

from sn_tf.clock import Clock
from sn_tf.graphs import (
    RECOMPUTE,
    RUN,
    SWAP_IN,
    SWAP_OUT,
    SWAP_WAIT,
    Graph,
    GraphPlan,
    Item,
    Schedule,
    plan_graph,
)
from sn_tf.linear import Programme, Sum
from sn_tf.options import Options
from sn_tf.programme import Memory
from sn_tf.slots import Slots

# The programme counts bytes and seconds in such parts of budget and step.
_UNITS = 1000
# A part of one that makes no difference.
_TOLERANCE = 1e-3
# Parts of a step that a plan has to save to be better, and that it may be off
# the best.
_WORTH = 1e-4
_PROVED = 1e-3
# Of a step of no seconds at all.
_LEAST_SECONDS = 1e-9


@dataclasses.dataclass(frozen=True)
class Optimum:
    """The best plan of a graph, as far as was found and proved.

    Attributes:
        plan: The best that is known; None where none is.
        bound_seconds: What no plan adds less than, as far as was proved;
            infinite where it was proved that no plan meets the budget.
        solve_seconds: Time that it took.
        variables: Of the programme; 0 where none was needed.
        rows: Of the programme.
    """

    plan: GraphPlan | None
    bound_seconds: float
    solve_seconds: float
    variables: int = 0
    rows: int = 0

    @property
    def is_proved(self) -> bool:
        """Whether no plan is better by more than a thousandth of the step."""
        if self.plan is None:
            return self.bound_seconds == float("inf")
        gap = self.plan.added_seconds - self.bound_seconds
        return gap <= _PROVED * self.plan.step_seconds


def optimal_plan(
    graph: Graph,
    options: Options,
    *,
    time_limit: float = 300.0,
    rivals: Sequence[GraphPlan] = (),
) -> Optimum:
    """The plan that adds the least time to a step within a budget.

    Args:
        graph: The graph.
        options: `budget_bytes`, `tiers`, `min_buffer_bytes` and
            `link_bandwidth_bytes_per_s`; the policy is not asked.
        time_limit: Seconds after which the best plan so far is taken. Defaults
            to 300.
        rivals: Plans of the same graph that are known. One of those that meet
            the budget is the best, unless one is found that saves a
            ten-thousandth of the step. Defaults to none.

    Raises:
        ImportError: If HiGHS is not installed.
        ValueError: If the graph cannot be planned, or an option is not
            accepted.
        RuntimeError: If the library does not find of a schedule what the
            programme says of it: a fault of the programme.
    """
    begin = time.monotonic()
    alone = _route_plan(graph, options)
    if alone.feasible:
        return Optimum(alone, 0.0, time.monotonic() - begin)
    seconds_unit = max(_LEAST_SECONDS, alone.step_seconds) / _UNITS
    memory = _memory_of(graph, options, alone, rivals)
    clock = Clock(memory, alone.costs, unit=seconds_unit)
    programme = memory.programme
    programme.objective = clock.added
    best = min(
        (plan for plan in rivals if plan.holds),
        key=lambda plan: plan.added_seconds,
        default=None,
    )
    most = float("inf")
    if best is not None:
        most = best.added_seconds / seconds_unit - _WORTH * _UNITS
        programme.require(most - clock.added)
    solution = programme.solve(time_limit=time_limit, absolute_gap=_TOLERANCE)
    if solution.found:
        best = plan_graph(graph, options, schedule_of(memory, solution.values))
        _check(best, solution.objective * seconds_unit)
    return Optimum(
        best,
        min(solution.bound, most) * seconds_unit,
        time.monotonic() - begin,
        *programme.size,
    )


def smallest_plan(
    graph: Graph, options: Options, *, time_limit: float = 300.0
) -> GraphPlan:
    """The plan with the lowest peak, whatever time it takes.

    Args:
        graph: The graph.
        options: As for `optimal_plan`; the budget is not looked at.
        time_limit: Seconds after which the lowest so far is taken. Defaults to
            300.

    Raises:
        ImportError: If HiGHS is not installed.
        ValueError: If the graph cannot be planned, or an option is not
            accepted.
        RuntimeError: If nothing was found in time.
    """
    alone = _route_plan(graph, options)
    programme = Programme()
    peak = programme.number()
    unit = max(1, alone.floor_bytes) / _UNITS
    slots = Slots(
        graph, options, alone.route, budget_bytes=alone.floor_bytes - 1
    )
    memory = Memory(
        programme,
        slots,
        swaps=options.tiers != "none",
        budget=peak,
        unit=unit,
    )
    programme.require(peak - alone.floor_bytes / unit)
    programme.objective = peak
    solution = programme.solve(time_limit=time_limit, absolute_gap=_TOLERANCE)
    if not solution.found:
        raise RuntimeError(
            f"No plan of {len(graph.ops)} ops was found in {time_limit} s. "
            "Allow more time, or coarsen the graph: sn_tf.coarse."
        )
    return plan_graph(graph, options, schedule_of(memory, solution.values))


def schedule_of(memory: Memory, values: Any) -> list[Item]:
    """The schedule that the programme's variables stand for.

    Args:
        memory: The programme.
        values: Of its variables.
    """
    slots, choices = memory.slots, memory.choices

    def chosen(one: Sum | None) -> bool:
        return one is not None and one.value(values) > 0.5

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
        side_by_side = outs.get(number, [])
        side_by_side.sort(
            key=lambda one: sum(
                chosen(choices.behind.get((one, other)))
                for other in side_by_side
            )
        )
        schedule += [(SWAP_OUT, buffer) for buffer in side_by_side]
    schedule += [(RUN, op) for op in slots.before[-1]]
    return _without_unused(slots.graph, schedule)


def _next_read(memory: Memory, values: Any, buffer: int, begin: int) -> int:
    """The first slot from `begin` on whose op runs and reads the buffer."""
    slots = memory.slots
    for slot in range(begin, slots.last[buffer] + 1):
        runs = memory.runs(slot).value(values) > 0.5
        if runs and buffer in slots.reads(slot):
            return slot
    return len(slots.slots)


def _memory_of(
    graph: Graph,
    options: Options,
    alone: GraphPlan,
    rivals: Sequence[GraphPlan],
) -> Memory:
    unit = max(1, options.budget_bytes) / _UNITS
    slots = Slots(
        graph,
        options,
        alone.route,
        budget_bytes=options.budget_bytes,
        express=[plan.schedule for plan in rivals],
    )
    return Memory(
        Programme(),
        slots,
        swaps=options.tiers != "none",
        budget=options.budget_bytes / unit,
        unit=unit,
    )


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


def _route_plan(graph: Graph, options: Options) -> GraphPlan:
    return plan_graph(graph, dataclasses.replace(options, policy="liveness"))


def _check(plan: GraphPlan, added_seconds: float) -> None:
    """Raises RuntimeError where the library finds something else."""
    off = abs(plan.added_seconds - added_seconds)
    if plan.holds and off <= 1e-5 * max(plan.step_seconds, _LEAST_SECONDS):
        return
    raise RuntimeError(
        "The programme of the optimal planner is wrong: it adds "
        f"{added_seconds} s by its own account, and {plan.added_seconds} s by "
        f"the library's, with a peak of {plan.peak_bytes} bytes in a budget of "
        f"{plan.budget_bytes}. {plan.rejected}"
    )
