# SPDX-License-Identifier: Apache-2.0
"""The optimal planner against all schedules there are, and against policies."""

from __future__ import annotations

import dataclasses
import math
import random
import sys
from collections.abc import Iterator

import pytest
from exhaustive import Search, TooManyError
from expressed import start_of
from tiny_graphs import tiny_graph

from sn_tf.graphs import SWAP_OUT, Buffer, Graph, GraphPlan, Op, plan_graph
from sn_tf.optimal import coarsened, optimal_plan, smallest_plan
from sn_tf.optimal.clock import Clock
from sn_tf.optimal.linear import Programme, Solution
from sn_tf.optimal.loose import LooseClock
from sn_tf.optimal.programme import Memory
from sn_tf.optimal.slots import Slots, merged
from sn_tf.options import Options

pytest.importorskip("highspy")

_TINY_SEEDS = range(24)
_LARGER_SEEDS = range(100, 112)
# States of an exhaustive search, which takes seconds for as many.
_MOST_STATES = 600
# Of seconds that should be the same, in steps of some fifty seconds.
_CLOSE = 1e-4


def _options(seed: int) -> Options:
    pick = random.Random(seed)
    return Options(
        budget_bytes=10**6,
        tiers=pick.choice(["host", "host", "none"]),
        min_buffer_bytes=pick.choice([1, 1, 128]),
        link_bandwidth_bytes_per_s=pick.choice([20, 60, 200, 1000]),
    )


def _budgets(graph: Graph, options: Options) -> Iterator[Options]:
    """The smallest budget, and two between it and what needs no plan."""
    smallest = smallest_plan(graph, options)
    low, high = smallest.peak_bytes, smallest.route_peak_bytes
    for budget in sorted(
        {low, low + (high - low) // 3, high - (high - low) // 3}
    ):
        if budget < high:
            yield dataclasses.replace(options, budget_bytes=budget)


def _best(graph: Graph, options: Options) -> GraphPlan:
    """The best plan, proved to be it; no rival is taken for it."""
    best = optimal_plan(graph, options, precision=1e-6)
    assert best.plan is not None
    assert best.plan.holds
    assert best.gap <= 1e-5
    return best.plan


def test_it_adds_what_the_best_of_all_schedules_adds() -> None:
    compared = 0
    for seed in _TINY_SEEDS:
        graph = tiny_graph(seed)
        for options in _budgets(graph, _options(seed)):
            best = _best(graph, options)
            search = Search(graph, options, best.route, best.costs)
            try:
                found = search.best(_MOST_STATES)
            except TooManyError:
                continue
            assert found is not None, (seed, options)
            # The search itself is right about its schedule.
            judged = plan_graph(graph, options, found[1])
            assert judged.holds, (seed, judged.rejected)
            assert abs(judged.added_seconds - found[0]) < _CLOSE
            assert abs(best.added_seconds - found[0]) < _CLOSE, (seed, options)
            compared += 1
    assert compared >= 30


@pytest.mark.parametrize("seed", _LARGER_SEEDS)
def test_no_policy_adds_less(seed: int) -> None:
    graph = tiny_graph(seed, most_buffers=14)
    for options in _budgets(graph, _options(seed)):
        best = _best(graph, options)
        for policy in ("auto", "swap"):
            named = dataclasses.replace(options, policy=policy)
            plan = plan_graph(graph, named)
            assert not plan.holds or (
                best.added_seconds <= plan.added_seconds + _CLOSE
            )


def test_the_default_policy_adds_little_more_than_the_best() -> None:
    compared = 0
    for seed in (*_TINY_SEEDS, *_LARGER_SEEDS):
        graph = tiny_graph(seed, most_buffers=10 if seed < 100 else 14)
        for options in _budgets(graph, _options(seed)):
            best = _best(graph, options)
            auto = plan_graph(graph, options)
            assert auto.holds, (seed, options, auto.rejected)
            assert auto.added_seconds <= 1.05 * best.added_seconds + _CLOSE, (
                seed,
                options,
            )
            compared += 1
    assert compared >= 30


def test_there_is_no_plan_below_the_smallest() -> None:
    for seed in _TINY_SEEDS:
        graph, options = tiny_graph(seed), _options(seed)
        smallest = smallest_plan(graph, options)
        assert not smallest.rejected
        below = dataclasses.replace(
            options, budget_bytes=smallest.peak_bytes - 1
        )
        none = optimal_plan(graph, below)
        assert none.plan is None
        assert none.bound_seconds == math.inf
        assert none.gap == 0
        assert not plan_graph(graph, below).holds


def test_nothing_is_added_where_the_route_has_room() -> None:
    graph = tiny_graph(0)
    best = optimal_plan(graph, Options(budget_bytes=10**9))
    assert best.plan is not None
    assert best.plan.added_seconds == best.bound_seconds == 0


# ---- Its programmes ----------------------------------------------------------


def _programme(
    graph: Graph, options: Options, plan: GraphPlan, *, loose: bool = False
) -> Memory:
    slots = Slots(
        graph,
        options,
        plan.route,
        budget_bytes=options.budget_bytes,
        express=[plan.schedule],
    )
    return Memory(
        Programme(),
        slots,
        swaps=options.tiers != "none",
        budget=options.budget_bytes,
        unit=1,
        loose=loose,
    )


def _solved(
    memory: Memory, clock: Clock | LooseClock, **how: object
) -> Solution:
    memory.programme.objective = clock.added
    return memory.programme.solve(time_limit=60, absolute_gap=1e-6, **how)  # type: ignore[arg-type]


def test_plans_of_policies_are_solutions_that_add_no_more() -> None:
    compared = 0
    for seed in _LARGER_SEEDS:
        graph = tiny_graph(seed, most_buffers=14)
        for options in _budgets(graph, _options(seed)):
            for policy in ("auto", "swap", "superneurons"):
                named = dataclasses.replace(options, policy=policy)
                plan = plan_graph(graph, named)
                if not plan.holds:
                    continue
                memory = _programme(graph, named, plan)
                clock = Clock(memory, plan.costs, unit=1)
                values = start_of(memory, plan.costs, plan.schedule)
                if values is None:  # Moves what has room, whatever the budget.
                    assert policy == "superneurons"
                    continue
                solution = _solved(memory, clock, fixed=values)
                assert solution.found, (seed, policy)
                assert solution.objective <= plan.added_seconds + _CLOSE
                compared += 1
    assert compared >= 30


def test_the_loose_programme_is_a_bound() -> None:
    for seed in _LARGER_SEEDS:
        graph = tiny_graph(seed, most_buffers=14)
        for options in _budgets(graph, _options(seed)):
            best = _best(graph, options)
            memory = _programme(graph, options, best, loose=True)
            clock = LooseClock(memory, best.costs, unit=1)
            bound = _solved(memory, clock)
            assert bound.found
            assert bound.objective <= best.added_seconds + _CLOSE, seed


def test_bound_and_plan_meet_where_there_are_many_choices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sn_tf.optimal.search._FEW_ENTRIES", 0)
    for seed in _LARGER_SEEDS[:4]:
        graph = tiny_graph(seed, most_buffers=14)
        for options in _budgets(graph, _options(seed)):
            in_steps = _best(graph, options)
            with monkeypatch.context() as patch:
                patch.setattr("sn_tf.optimal.search._FEW_ENTRIES", 10**9)
                at_once = _best(graph, options)
            off = in_steps.added_seconds - at_once.added_seconds
            assert abs(off) < _CLOSE


def test_a_rival_is_the_best_where_none_is_better() -> None:
    for seed in _TINY_SEEDS:
        graph = tiny_graph(seed)
        for options in _budgets(graph, _options(seed)):
            best = _best(graph, options)
            again = optimal_plan(graph, options, rivals=[best])
            assert again.plan is best
            assert again.gap <= 1e-3


def test_of_two_copies_that_begin_at_once_the_urgent_one_is_first() -> None:
    def op(at: int, **fields: object) -> Op:
        after = (at - 1,) if at else ()
        return Op(name=f"op{at}", type="T", after=after, seconds=9.0, **fields)  # type: ignore[arg-type]

    graph = Graph(
        (
            op(0, writes=(0, 1)),
            op(1, reads=(0,), writes=(2,), workspace_bytes=500),
            op(2, reads=(2,), writes=(3,), workspace_bytes=500),
            op(3, reads=(0, 1, 3)),
        ),
        tuple(
            Buffer(name=f"buffer{at}", bytes=500, producer=max(0, at - 1))
            for at in range(4)
        ),
    )
    best = _best(
        graph,
        Options(
            budget_bytes=1500,
            tiers="host",
            min_buffer_bytes=1,
            link_bandwidth_bytes_per_s=1000,
        ),
    )
    outs = [buffer for kind, buffer in best.schedule if kind == SWAP_OUT]
    assert outs == [1, 0]
    # Half a second for the first to leave, and for each to come back.
    assert abs(best.added_seconds - 1.5) < _CLOSE


def test_a_programme_that_the_library_contradicts_is_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = tiny_graph(101, most_buffers=14)
    options = next(_budgets(graph, _options(101)))
    assert _best(graph, options).added_seconds > 0
    monkeypatch.setattr(
        "sn_tf.optimal.search.schedule_of",
        lambda memory, values: [("run", op) for op in memory.slots.route],
    )
    with pytest.raises(RuntimeError, match="programme .* is wrong"):
        optimal_plan(graph, options)


def test_without_highs_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(ImportError, match=r"pip install 'sn-tf\[optimal\]'"):
        smallest_plan(tiny_graph(0), _options(0))


def test_merged_has_both_in_it() -> None:
    assert merged([1, 2, 3], [2, 4]) in ([1, 2, 3, 4], [1, 2, 4, 3])
    assert merged([1, 2], [2, 1]) in ([1, 2, 1], [2, 1, 2])
    assert merged([], [None, 5]) == [None, 5]
    assert merged([1, 2], [1, 2]) == [1, 2]


# ---- Coarse graphs -----------------------------------------------------------


def test_coarse_graphs_can_be_planned_and_take_as_long() -> None:
    for seed in _LARGER_SEEDS:
        graph = tiny_graph(seed, most_buffers=14)
        alone = plan_graph(
            graph, Options(budget_bytes=10**9, policy="liveness")
        )
        for most_ops in (8, 4):
            coarse = coarsened(graph, alone.route, most_ops)
            assert len(coarse.ops) <= max(most_ops, len(graph.ops) - 1)
            plan = plan_graph(
                coarse, Options(budget_bytes=10**9, policy="liveness")
            )
            assert plan.route == list(range(len(coarse.ops)))
            assert not plan.rejected
            assert math.isclose(plan.step_seconds, alone.step_seconds)
            # What is joined is held at once: no less than before.
            assert plan.route_peak_bytes >= alone.route_peak_bytes
            assert plan.floor_bytes >= alone.floor_bytes


def test_ops_are_joined_only_where_little_is_lost() -> None:
    graph = tiny_graph(100, most_buffers=14)
    route = plan_graph(
        graph, Options(budget_bytes=10**9, policy="liveness")
    ).route
    few = coarsened(graph, route, 1)
    many = coarsened(graph, route, len(graph.ops))
    assert len(few.ops) < len(many.ops) <= len(graph.ops)
    # What only one op reads and writes is of no concern to a plan.
    kept = {buffer.name for buffer in graph.buffers}
    assert {buffer.name for buffer in few.buffers} <= kept
