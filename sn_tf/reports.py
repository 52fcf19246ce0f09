# SPDX-License-Identifier: Apache-2.0
"""What was planned and what was measured, as plain data."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sn_tf import _library
from sn_tf.budget import format_bytes
from sn_tf.options import device_name
from sn_tf.tiers import TierStats


@dataclasses.dataclass(frozen=True)
class LinkStats:
    """The link of a simulated device, since the device was made.

    Attributes:
        name: As it was given to `sim.configure`: `"pcie3"`.
        to_device_bytes: Copied from host memory to the device.
        to_device_seconds: Time in which that direction was busy.
        to_device_modelled_seconds: Time that the link would have needed; less
            than that where it is faster than this machine's memory.
        to_host_bytes: Copied from the device to host memory.
        to_host_seconds: Time in which that direction was busy.
        to_host_modelled_seconds: Time that the link would have needed.
        stall_seconds: Time in which a copy was asked for and had not ended,
            and the device computed nothing: the part of copying that was not
            hidden behind computation.
        elapsed_seconds: Age of the device.
        bandwidth_bytes_per_s: Of pinned memory, in each direction, as
            modelled; 0 where it is unlimited.
    """

    name: str
    to_device_bytes: int
    to_device_seconds: float
    to_device_modelled_seconds: float
    to_host_bytes: int
    to_host_seconds: float
    to_host_modelled_seconds: float
    stall_seconds: float
    elapsed_seconds: float
    bandwidth_bytes_per_s: float

    @property
    def to_device_busy_share(self) -> float:
        """Part of the time in which copies to the device were under way."""
        return self.to_device_seconds / max(self.elapsed_seconds, 1e-9)

    @property
    def to_host_busy_share(self) -> float:
        """Part of the time in which copies to the host were under way."""
        return self.to_host_seconds / max(self.elapsed_seconds, 1e-9)

    def since(self, earlier: LinkStats) -> LinkStats:
        """What came after `earlier`, which the same device gave."""
        grown = (
            "to_device_bytes",
            "to_device_seconds",
            "to_device_modelled_seconds",
            "to_host_bytes",
            "to_host_seconds",
            "to_host_modelled_seconds",
            "stall_seconds",
            "elapsed_seconds",
        )
        return dataclasses.replace(
            self,
            **{
                name: getattr(self, name) - getattr(earlier, name)
                for name in grown
            },
        )


@dataclasses.dataclass(frozen=True)
class MemoryStats:
    """Memory of one device, in bytes, and transfers since the process began.

    Attributes:
        in_use_bytes: Allocated now.
        peak_bytes: Most that was allocated since `reset_peak()`.
        resident_bytes: What was allocated when the last observed step began:
            weights, optimizer state, constants.
        budget_bytes: The hard limit; 0 where there is none.
        high_water_bytes: End of the highest allocation since `reset_peak()`.
        largest_free_bytes: Size of the largest free chunk.
        allocations: Allocations made since the process began.
        fragmentation: `high_water_bytes / peak_bytes`.
        swapped_out_bytes: Copied out of the device.
        swapped_in_bytes: Copied back.
        host_tier_in_use_bytes: Stored on the host tier now.
        evictions: Buffers that the tensor cache moved out because memory was
            needed.
        cache_hits: Swapped buffers that were wanted back and had never left.
        cache_misses: Those that had to be copied back.
        stall_seconds: Time in which ops or allocations waited for copies.
        state_outside_bytes: Of variables that are out of the device's memory
            now, and of copies of them that someone still reads.
        memory_bytes: Size of the device's memory; 0 where that is no fixed
            range.
        link: All copies over the link of a simulated device, which include
            inputs and results; None for other devices.
        tiers: The tiers to which the CPU's buffers move; none for other
            devices.
    """

    in_use_bytes: int
    peak_bytes: int
    resident_bytes: int
    budget_bytes: int
    high_water_bytes: int
    largest_free_bytes: int
    allocations: int
    fragmentation: float
    swapped_out_bytes: int
    swapped_in_bytes: int
    host_tier_in_use_bytes: int
    evictions: int
    cache_hits: int
    cache_misses: int
    stall_seconds: float
    state_outside_bytes: int = 0
    memory_bytes: int = 0
    link: LinkStats | None = None
    tiers: tuple[TierStats, ...] = ()


@dataclasses.dataclass(frozen=True)
class PlanAction:
    """One thing that a plan does to one buffer.

    Attributes:
        action: `"swap"`, `"recompute"`, or `"state"`: a variable is out of the
            device's memory between its uses in two steps.
        buffer: Name of the buffer, or of the variable's handle.
        bytes: Its size.
        from_op: Op after whose use the buffer leaves the device.
        to_op: Op for whose use it is back.
    """

    action: str
    buffer: str
    bytes: int
    from_op: str
    to_op: str


@dataclasses.dataclass(frozen=True)
class PlanReport:
    """The plan of one function.

    Attributes:
        function: Name of the function.
        device: Device whose memory is planned.
        feasible: Whether there is a plan that keeps the budget.
        policy: Policy that planned it.
        budget_bytes: Budget that it was planned for.
        stock_peak_bytes: Peak without the plan, as estimated. Neither this nor
            the next ones count a batch of inputs beyond those that the step
            begins with, for which a plan leaves room where it can.
        planned_peak_bytes: Peak with it, however long copies take.
        expected_peak_bytes: Peak with it where copies end when they should.
        floor_bytes: Resident bytes plus the largest single op: no plan of
            whole tensors goes below.
        resident_bytes: What outlives a step.
        min_budget_bytes: Smallest budget for which a plan exists; 0 where it
            was not searched for.
        limiting_op: Op that sets it.
        added_seconds: Time that the plan adds to a step, as estimated.
        recompute_seconds: The part of it in which ops run once more.
        stall_seconds: The part of it in which copies are waited for. The rest
            is what copies in the background take from the computation.
        step_seconds: Time of a step without the plan, as estimated.
        costs: `"estimated"` or `"measured"`: where sizes are from.
        times: The same of the times of ops.
        generation: 0 for the first plan; grows as plans get better costs.
        swapped_bytes: Bytes moved out in each step.
        swapped_buffers: Buffers moved out in each step.
        recomputed_ops: Ops run once more in each step.
        state_bytes: Bytes of variables that are out but for their use.
        state_buffers: How many these variables are.
        ops: Ops of the graph that was planned, before the plan.
        plan_seconds: Time that planning took, with the rewriting of the graph;
            without it where a measured step has confirmed the plan.
        reason: Why nothing was changed, or what was left alone; else empty.
        actions: Everything that the plan does, in the order of execution.
    """

    function: str
    device: str
    feasible: bool
    policy: str
    budget_bytes: int
    stock_peak_bytes: int
    planned_peak_bytes: int
    expected_peak_bytes: int
    floor_bytes: int
    resident_bytes: int
    min_budget_bytes: int
    limiting_op: str
    added_seconds: float
    recompute_seconds: float
    stall_seconds: float
    step_seconds: float
    costs: str
    times: str
    generation: int
    swapped_bytes: int
    swapped_buffers: int
    recomputed_ops: int
    state_bytes: int
    state_buffers: int
    ops: int
    plan_seconds: float
    reason: str
    actions: tuple[PlanAction, ...]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PlanReport:
        """Builds a report from the object that `to_json()` writes."""
        fields = {
            field.name: values[field.name] for field in dataclasses.fields(cls)
        }
        fields["actions"] = tuple(
            PlanAction(**action) for action in values["actions"]
        )
        return cls(**fields)

    @property
    def slowdown(self) -> float:
        """Expected part by which a step gets slower: 0.1 is 10% slower."""
        if self.step_seconds <= 0:
            return 0.0
        return self.added_seconds / self.step_seconds

    @property
    def is_planned(self) -> bool:
        """Whether there is a plan; `reason` says why where there is none."""
        return self.stock_peak_bytes > 0

    @property
    def is_infeasible(self) -> bool:
        """Whether planning found that the budget cannot be kept."""
        return self.is_planned and not self.feasible

    def summary(self) -> str:
        """One line: budget, peaks, expected slowdown, and what moves."""
        if not self.is_planned:
            return f"{self.function} runs as it is: {self.reason}"
        if not self.feasible:
            return (
                f"budget {format_bytes(self.budget_bytes)} is infeasible: at "
                f"least {format_bytes(self.min_budget_bytes)} is needed, by "
                f"op {self.limiting_op}"
            )
        text = (
            f"budget {format_bytes(self.budget_bytes)}, stock peak "
            f"{format_bytes(self.stock_peak_bytes)}, planned peak "
            f"{format_bytes(self.planned_peak_bytes)}, expected slowdown "
            f"{self.slowdown:.1%}; swaps {self.swapped_buffers} buffers "
            f"({format_bytes(self.swapped_bytes)}), recomputes "
            f"{self.recomputed_ops} ops ({self.costs} costs)"
        )
        if self.state_buffers:
            size = format_bytes(self.state_bytes)
            text += f"; {self.state_buffers} variables ({size}) are out"
        return f"{text}; {self.reason}" if self.reason else text

    def to_json(self) -> str:
        """The report as a JSON object with the fields of this class."""
        return json.dumps(dataclasses.asdict(self), indent=2)

    def to_markdown(self) -> str:
        """The report as a markdown section: numbers, then the actions."""
        title = f"## Memory plan of `{self.function}`"
        if not self.is_planned:
            return f"{title}\n\nNone: it runs as it is. {self.reason}\n"
        rows = [
            ("feasible", "yes" if self.feasible else "no"),
            ("device", self.device),
            ("policy", self.policy),
            ("budget", format_bytes(self.budget_bytes)),
            ("stock peak", format_bytes(self.stock_peak_bytes)),
            ("planned peak, at most", format_bytes(self.planned_peak_bytes)),
            ("expected peak", format_bytes(self.expected_peak_bytes)),
            ("floor", format_bytes(self.floor_bytes)),
            ("resident", format_bytes(self.resident_bytes)),
            (
                "smallest budget",
                format_bytes(self.min_budget_bytes)
                if self.min_budget_bytes > 0
                else "not searched for",
            ),
            ("op that sets it", f"`{self.limiting_op}`"),
            ("added time", f"{self.added_seconds:.3f} s"),
            ("of it recomputation", f"{self.recompute_seconds:.3f} s"),
            ("of it stalls", f"{self.stall_seconds:.3f} s"),
            ("expected slowdown", f"{self.slowdown:.1%}"),
            ("costs", self.costs),
            ("op times", self.times),
            ("generation", str(self.generation)),
            ("swapped", format_bytes(self.swapped_bytes)),
            ("swapped buffers", str(self.swapped_buffers)),
            ("recomputed ops", str(self.recomputed_ops)),
            ("variables out", format_bytes(self.state_bytes)),
            ("ops of the graph", str(self.ops)),
            ("planning time", f"{self.plan_seconds:.3f} s"),
            ("remark", self.reason or "none"),
        ]
        lines = [title, ""]
        lines += _table(("what", "value"), rows)
        if self.actions:
            lines += ["", "### Actions", ""]
            lines += _table(
                ("action", "buffer", "size", "from", "to"),
                (
                    (
                        action.action,
                        f"`{action.buffer}`",
                        format_bytes(action.bytes),
                        f"`{action.from_op}`",
                        f"`{action.to_op}`",
                    )
                    for action in self.actions
                ),
            )
        return "\n".join(lines) + "\n"


def stats(device: str | None = None) -> MemoryStats:
    """Memory statistics of a device, with or without a budget.

    Args:
        device: Device name. Defaults to `$SN_TF_DEVICE`, else `"CPU:0"`.

    Returns:
        The statistics now.

    Raises:
        ValueError: If sn_tf does not manage the memory of `device`.

    Example:
        >>> sn_tf.reset_peak()
        >>> model.train_on_batch(x, y)
        >>> sn_tf.stats().peak_bytes
    """
    device = device_name(device)
    values = _library.library().stats(device)
    if "link" in values:
        values["link"] = LinkStats(**values["link"])
    values["tiers"] = tuple(
        TierStats.from_dict(tier) for tier in values.get("tiers", ())
    )
    return MemoryStats(**values)


def reset_peak(device: str | None = None) -> None:
    """Restarts `peak_bytes` and `high_water_bytes` at what is in use now.

    Args:
        device: Device name. Defaults to `$SN_TF_DEVICE`, else `"CPU:0"`.

    Raises:
        ValueError: If sn_tf does not manage the memory of `device`.
    """
    _library.library().reset_peak(device_name(device))


def write_reports(reports: Iterable[PlanReport], folder: str) -> None:
    """Writes each report as `<function>.json` and `<function>.md`.

    Those of other devices than the CPU have the device before the dot.
    """
    for report in reports:
        _path(report, folder, ".json").write_text(report.to_json() + "\n")
        _path(report, folder, ".md").write_text(report.to_markdown())


def write_graph(report: PlanReport, graph: str, folder: str) -> None:
    """Writes the graph of a report's plan, JSON, as `<function>.graph.json`."""
    _path(report, folder, ".graph.json").write_text(graph + "\n")


def _path(report: PlanReport, folder: str, ending: str) -> Path:
    name = report.function
    if report.device != "CPU:0":
        name += f"_{report.device}"
    return Path(folder) / (re.sub(r"[^A-Za-z0-9_.-]", "_", name) + ending)


def _table(
    header: tuple[str, ...], rows: Iterable[tuple[str, ...]]
) -> list[str]:
    lines = [header, ("---",) * len(header), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]
