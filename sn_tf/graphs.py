# SPDX-License-Identifier: Apache-2.0
"""Graphs of steps as the planner sees them, and plans of them, as data.

A session with a `report_dir` writes the graph of each planned function there,
as `<function>.graph.json`. Here such a graph is planned by any policy, and a
schedule that somebody else made of it is judged, without running a step:

    graph = Graph.read("reports/step.graph.json")
    plan = plan_graph(graph, Options(budget_bytes=300_000_000))
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sn_tf import _library
from sn_tf.options import Options

# What `partner` and `overwriter` are where there is none.
NONE = -1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Op:
    """One node of the optimised graph; grappler_pass/planner/graph.h.

    Attributes:
        name: Its name.
        type: Its TensorFlow op.
        after: Ops that must have run before it, ascending.
        soft_after: Ops that had better run before it, ascending.
        reads: Buffers that it reads, ascending.
        writes: Buffers that it writes, ascending.
        workspace_bytes: Memory that it needs while it runs.
        in_place_output: Buffer that it writes in place: into the memory of one
            of `in_place_inputs`, nobody knows which, where it is the last to
            read each of them; `NONE` where there is none.
        in_place_inputs: Those, ascending, of its size.
        seconds: Time that it takes.
        pure: Whether it may run again.
        partner: Op that must stay next to it where the route has the two side
            by side; `NONE` where there is none.
    """

    name: str
    type: str
    after: tuple[int, ...] = ()
    soft_after: tuple[int, ...] = ()
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    workspace_bytes: int = 0
    in_place_output: int = NONE
    in_place_inputs: tuple[int, ...] = ()
    seconds: float = 0.0
    pure: bool = False
    partner: int = NONE


@dataclasses.dataclass(frozen=True, kw_only=True)
class Buffer:
    """Memory that one op writes.

    Attributes:
        name: Of the tensor that owns it.
        bytes: Its size.
        producer: Op that writes it.
        movable: Whether it may leave the device and come back.
        view: Whether it is a variable's own memory, which costs nothing.
        apart_seconds: What its readers take longer where it came back.
        overwriter: Of views, the op that overwrites the variable; or `NONE`.
    """

    name: str
    bytes: int
    producer: int
    movable: bool = True
    view: bool = False
    apart_seconds: float = 0.0
    overwriter: int = NONE

    def may_move(self, options: Options) -> bool:
        """Whether a plan may take it away."""
        return (
            self.movable
            and not self.view
            and self.bytes >= options.min_buffer_bytes
        )


@dataclasses.dataclass(frozen=True)
class Graph:
    """Ops and buffers of one step; ids are indices.

    Attributes:
        ops: The ops.
        buffers: What they read and write.
        resident_bytes: In use throughout the step.
    """

    ops: tuple[Op, ...]
    buffers: tuple[Buffer, ...]
    resident_bytes: int = 0

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Graph:
        """The graph of an object as grappler_pass/planner/graph_json.h has it.

        Raises:
            KeyError: If a field is missing.
            TypeError: If one is unknown.
        """
        return cls(
            ops=tuple(Op(**_with_tuples(op)) for op in values["ops"]),
            buffers=tuple(Buffer(**buffer) for buffer in values["buffers"]),
            resident_bytes=values["resident_bytes"],
        )

    @classmethod
    def read(cls, path: str | Path) -> Graph:
        """The graph in a file that a session wrote; errors as `from_dict`."""
        return cls.from_dict(json.loads(Path(path).read_text()))

    def to_json(self) -> str:
        """The object that `from_dict` reads, as text."""
        return json.dumps(dataclasses.asdict(self))

    @property
    def step_seconds(self) -> float:
        """Time of all ops, one after the other."""
        return sum(op.seconds for op in self.ops)


# Kinds of items, as grappler_pass/planner/plan.h has them, and an id each: of
# an op for the first two, otherwise of a buffer.
RUN, RECOMPUTE = "run", "recompute"
SWAP_OUT, SWAP_WAIT, SWAP_IN = "swap_out", "swap_wait", "swap_in"
Item = tuple[str, int]
Schedule = Sequence[Item]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Costs:
    """What copies cost; grappler_pass/planner/cost.h.

    Attributes:
        link_bytes_per_s: Of the link, in each direction.
        interference: Share of a copy's time that the computation loses.
        copying_bytes_per_s: Rate at which a copy takes no more from it.
    """

    link_bytes_per_s: float
    interference: float
    copying_bytes_per_s: float

    def copy_seconds(self, size: int) -> float:
        """Time that the link needs for `size` bytes."""
        return size / self.link_bytes_per_s

    def hidden_seconds(self, size: int) -> float:
        """Time that one copy adds to a step though it is hidden."""
        return min(
            self.interference * self.copy_seconds(size),
            size / self.copying_bytes_per_s,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class GraphPlan:
    """A plan of a graph, and what the library says of it.

    Attributes:
        rejected: Why it is no plan; empty where it holds.
        feasible: Whether it meets the budget.
        budget_bytes: The budget; 0 for none.
        peak_bytes: Its peak, resident bytes included.
        expected_peak_bytes: The same where copies end as foretold.
        route_peak_bytes: That of the route with nothing moved.
        floor_bytes: Resident bytes plus the largest single op.
        min_budget_bytes: Smallest budget that the policy is known to meet; 0
            where it was not searched for.
        limiting_op: Id of the op that runs at the peak.
        step_seconds: Time of the route alone.
        recompute_seconds: Added by ops that run once more.
        stall_seconds: Added by copies that are waited for.
        interference_seconds: Added by copies that are hidden.
        apart_seconds: Added where fused ops come apart.
        added_seconds: All of these.
        costs: What copies cost.
        schedule: Its items.
    """

    rejected: str
    feasible: bool
    budget_bytes: int
    peak_bytes: int
    expected_peak_bytes: int
    route_peak_bytes: int
    floor_bytes: int
    min_budget_bytes: int
    limiting_op: int
    step_seconds: float
    recompute_seconds: float
    stall_seconds: float
    interference_seconds: float
    apart_seconds: float
    added_seconds: float
    costs: Costs
    schedule: tuple[Item, ...]

    @property
    def holds(self) -> bool:
        """Whether it is a plan, and meets the budget."""
        return self.feasible and not self.rejected

    @property
    def route(self) -> list[int]:
        """Ids of the ops in the order in which they run first."""
        return [item for kind, item in self.schedule if kind == RUN]


def plan_graph(
    graph: Graph, options: Options, schedule: Schedule | None = None
) -> GraphPlan:
    """The plan that the library makes of a graph.

    Args:
        graph: The graph.
        options: Budget, policy and costs; see `Options`.
        schedule: Items, to be told what the plan of them comes to: the policy
            is not asked then. Defaults to None.

    Raises:
        ValueError: If the graph cannot be planned, or an option or the
            schedule is not accepted. Items that are no plan are accepted, and
            the plan of them is `rejected`.
    """
    values = _library.library().plan_graph(
        graph.to_json(),
        options.to_parameters(),
        None if schedule is None else json.dumps(list(schedule)),
    )
    fields = {
        field.name: values[field.name]
        for field in dataclasses.fields(GraphPlan)
    }
    fields["costs"] = Costs(**values["costs"])
    fields["schedule"] = tuple(
        (kind, item) for kind, item in values["schedule"]
    )
    return GraphPlan(**fields)


def _with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
    }
