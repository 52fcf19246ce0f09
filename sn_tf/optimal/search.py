# SPDX-License-Identifier: Apache-2.0
"""The search for the best plan of a graph.

Few variables: the exact programme is solved at once. Many: first the loose one,
for a bound and for what to compute again where; then the exact one in which
nothing else is computed again, for a plan; and then, while there is time and a
gap between the two, the exact one with all choices.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Collection, Sequence

from sn_tf.graphs import Graph, GraphPlan, plan_graph
from sn_tf.optimal.clock import Clock
from sn_tf.optimal.linear import Programme, Solution
from sn_tf.optimal.loose import LooseClock
from sn_tf.optimal.programme import Memory
from sn_tf.optimal.slots import Slots
from sn_tf.optimal.solution import is_chosen, schedule_of
from sn_tf.options import Options

# The programme counts bytes and seconds in such parts of budget and step.
_UNITS = 1000
# Part of a step that a plan has to save to be better.
_WORTH = 1e-4
# Of a step of no seconds at all.
_LEAST_SECONDS = 1e-9
# Of a peak, in units.
_ANY = 1e-3
# Places where copies may come back, up to which the exact programme is solved
# at once.
_FEW_ENTRIES = 1500
# Of the time that is left, for the loose programme and then for that of a part
# of the choices; and seconds that each programme gets in any case.
_LOOSE_SHARE, _PART_SHARE, _LEAST_LIMIT = 0.7, 0.6, 1.0
# Stages by which a clone of the loose programme may be off its place.
_AROUND = 2


@dataclasses.dataclass(frozen=True)
class Optimum:
    """The best plan of a graph, as far as was found and proved.

    Attributes:
        plan: The best that is known; None where none is.
        bound_seconds: What no plan adds less than, as far as was proved;
            infinite where it was proved that no plan meets the budget.
        solve_seconds: Time that it took.
        variables: Of the largest programme; 0 where none was needed.
        rows: Of the same.
    """

    plan: GraphPlan | None
    bound_seconds: float
    solve_seconds: float
    variables: int = 0
    rows: int = 0

    @property
    def gap(self) -> float:
        """Part of the step that the best plan may be faster by."""
        if self.plan is None:
            return 0.0 if self.bound_seconds == math.inf else math.inf
        gap = max(0.0, self.plan.added_seconds - self.bound_seconds)
        return gap / max(_LEAST_SECONDS, self.plan.step_seconds)


def optimal_plan(
    graph: Graph,
    options: Options,
    *,
    time_limit: float = 300.0,
    precision: float = 1e-3,
    rivals: Sequence[GraphPlan] = (),
) -> Optimum:
    """The plan that adds the least time to a step within a budget.

    Args:
        graph: The graph.
        options: `budget_bytes`, `tiers`, `min_buffer_bytes` and
            `link_bandwidth_bytes_per_s`; the policy is not asked.
        time_limit: Seconds after which the best plan so far is taken. Defaults
            to 300.
        precision: Part of the step that the plan may be off the best. Defaults
            to 0.001.
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
    search = _Search(graph, options, rivals, begin + time_limit, precision)
    if search.alone.feasible:
        return Optimum(search.alone, 0.0, time.monotonic() - begin)
    search.run()
    return Optimum(
        search.best,
        search.bound * search.unit,
        time.monotonic() - begin,
        *search.size,
    )


class _Search:
    """What is known so far. Times are in units.

    Attributes:
        alone: The plan of the route alone.
        unit: Seconds of a unit.
        best: The best plan.
        bound: What no plan adds less than.
        size: Variables and rows of the largest programme.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        rivals: Sequence[GraphPlan],
        deadline: float,
        precision: float,
    ) -> None:
        self._graph = graph
        self._options = options
        self._rivals = [plan for plan in rivals if plan.holds]
        self._deadline = deadline
        self._precision = precision * _UNITS
        self.alone = _route_plan(graph, options)
        self.unit = max(_LEAST_SECONDS, self.alone.step_seconds) / _UNITS
        self.best = min(
            self._rivals, key=lambda plan: plan.added_seconds, default=None
        )
        self.bound = 0.0
        self.size = (0, 0)

    def run(self) -> None:
        """Searches until all is proved, or time is up."""
        memory = self._memory(self._slots())
        entries = sum(len(slots) for slots in memory.entries.values())
        if entries <= _FEW_ENTRIES:
            self._solve_exactly(memory, is_whole=True)
            return
        chosen = self._solve_loosely()
        if not self._is_proved():
            part = self._memory(self._slots(self._around(chosen)))
            self._solve_exactly(part, is_whole=False)
        if not self._is_proved():
            self._solve_exactly(memory, is_whole=True)

    def _is_proved(self) -> bool:
        best = math.inf
        if self.best is not None:
            best = self.best.added_seconds / self.unit
        return self.bound >= best - self._precision

    def _solve_exactly(self, memory: Memory, *, is_whole: bool) -> None:
        """Solves an exact programme.

        Args:
            memory: The programme, without a clock.
            is_whole: Whether it has all choices: only then is what it proves a
                bound.
        """
        clock = Clock(memory, self.alone.costs, unit=self.unit)
        share = 1.0 if is_whole else _PART_SHARE
        solution = self._solve(memory, clock, is_bound=is_whole, share=share)
        if not solution.found:
            return
        schedule = schedule_of(memory, solution.values)
        self.best = plan_graph(self._graph, self._options, schedule)
        _check(self.best, solution.objective * self.unit)

    def _solve_loosely(self) -> list[set[int]]:
        """Returns what is computed again in each stage."""
        memory = self._memory(self._slots(), loose=True)
        clock = LooseClock(memory, self.alone.costs, unit=self.unit)
        solution = self._solve(memory, clock, is_bound=True, share=_LOOSE_SHARE)
        slots = memory.slots
        chosen: list[set[int]] = [set() for _ in slots.route]
        if solution.found:
            for slot, clone in memory.choices.clone.items():
                op = slots.slots[slot].op
                if op is not None and is_chosen(clone, solution.values):
                    chosen[slots.slots[slot].stage].add(op)
        return chosen

    def _solve(
        self,
        memory: Memory,
        clock: Clock | LooseClock,
        *,
        is_bound: bool,
        share: float,
    ) -> Solution:
        """Minimises what is added, in a share of the time that is left."""
        programme = memory.programme
        programme.objective = clock.added
        most = math.inf
        if self.best is not None:
            most = self.best.added_seconds / self.unit - _WORTH * _UNITS
            programme.require(most - clock.added)
        self.size = max(self.size, programme.size)
        left = max(0.0, self._deadline - time.monotonic())
        solution = programme.solve(
            time_limit=max(_LEAST_LIMIT, share * left),
            absolute_gap=self._precision / 10,
        )
        if is_bound:
            self.bound = max(self.bound, min(solution.bound, most))
        return solution

    def _around(self, chosen: list[set[int]]) -> list[set[int]]:
        """What may be computed again in each stage, beside what rivals do."""
        return [
            set().union(*chosen[max(0, at - _AROUND) : at + _AROUND + 1])
            for at in range(len(chosen))
        ]

    def _slots(self, clones: Sequence[Collection[int]] | None = None) -> Slots:
        return Slots(
            self._graph,
            self._options,
            self.alone.route,
            budget_bytes=self._options.budget_bytes,
            clones=clones,
            express=[plan.schedule for plan in self._rivals],
        )

    def _memory(
        self,
        slots: Slots,
        *,
        loose: bool = False,
    ) -> Memory:
        unit = max(1, self._options.budget_bytes) / _UNITS
        return Memory(
            Programme(),
            slots,
            swaps=self._options.tiers != "none",
            budget=self._options.budget_bytes / unit,
            unit=unit,
            loose=loose,
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
    solution = programme.solve(time_limit=time_limit, absolute_gap=_ANY)
    if not solution.found:
        raise RuntimeError(
            f"No plan of {len(graph.ops)} ops was found in {time_limit} s. "
            "Allow more time, or coarsen the graph: sn_tf.optimal.coarse."
        )
    return plan_graph(graph, options, schedule_of(memory, solution.values))


def _route_plan(graph: Graph, options: Options) -> GraphPlan:
    return plan_graph(graph, dataclasses.replace(options, policy="liveness"))


def _check(plan: GraphPlan, added_seconds: float) -> None:
    """Raises RuntimeError where the library finds that it adds more.

    It may add less: what was of no use has been dropped.
    """
    more = plan.added_seconds - added_seconds
    if plan.holds and more <= 1e-5 * max(plan.step_seconds, _LEAST_SECONDS):
        return
    raise RuntimeError(
        "The programme of the optimal planner is wrong: it adds "
        f"{added_seconds} s by its own account, and {plan.added_seconds} s by "
        f"the library's, with a peak of {plan.peak_bytes} bytes in a budget of "
        f"{plan.budget_bytes}. {plan.rejected}"
    )
