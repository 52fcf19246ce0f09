# SPDX-License-Identifier: Apache-2.0
"""The trainings of `benchmarks.results`, and the targets of each.

What was measured of a network is a dictionary: the settings, and under "lines"
a record for each training, by the name of its line.
"""

import dataclasses
import math
import statistics

from benchmarks import TIMED_STEPS, child, turns

FLOOR_SHARE = 1.05
PEAK_WITHIN = 0.02
TIME_WITHIN = 0.15
# Floors and smallest budgets of two runs of one training differ by as much.
_SAME = 0.01
_MOST_RUNS = 4
# By which a budget is raised where a plan for it takes too long.
_RAISE = 1.08
_KEPT = (
    *("mode", "tf_version", "cpus", "error", "message", "budget_bytes"),
    *("peak_bytes", "step_peak_bytes", "planned_peak_bytes"),
    "expected_peak_bytes",
    *("floor_bytes", "min_budget_bytes", "resident_bytes", "costs", "times"),
    *("step_seconds", "added_seconds", "step_time_s", "recomputed_ops"),
    *("swapped_out_bytes_per_step", "loss", "weights_sha256"),
)


@dataclasses.dataclass(frozen=True)
class Line:
    """One training of a network.

    Attributes:
        label: What it is, for people.
        most: The target: most step time, as a multiple of stock's.
        tiers: Where buffers may go; empty for the route alone.
        share: The budget, as a part of stock's peak; 0 where it follows from
            what is measured.
    """

    label: str
    most: float
    tiers: str = ""
    share: float = 0.0


ROUTE, FLOOR, SMALLEST = "route", "host-floor", "none-smallest"
LINES = {
    ROUTE: Line("route alone", 1.02),
    "host-50": Line("50%", 1.03, "host", 0.5),
    "host-35": Line("35%", 1.10, "host", 0.35),
    FLOOR: Line(f"{FLOOR_SHARE} of the floor", 1.25, "host"),
    "none-50": Line("recomputing, 50%", 1.05, "none", 0.5),
    "none-35": Line("recomputing, 35%", 1.20, "none", 0.35),
    SMALLEST: Line(
        "recomputing, smallest budget that takes no more", 1.5, "none"
    ),
}


def floor_bytes(found):
    """The floor of a network: the highest of its lines, workspaces included."""
    return max(line["floor_bytes"] or 0 for line in found["lines"].values())


def floor_budget(floor):
    """The budget of the line that is as tight as the floor allows."""
    return math.ceil(FLOOR_SHARE * floor)


def share_budget(line, found):
    """The budget of a line that has a share of stock's peak."""
    return math.ceil(line.share * found["lines"][ROUTE]["stock_peak_bytes"])


def applies(name, found):
    """Whether a line is one to measure: not where the floor is too near."""
    line = LINES[name]
    if not line.share or ROUTE not in found["lines"]:
        return True
    return share_budget(line, found) >= floor_budget(floor_bytes(found))


def record(one, stock):
    """What is kept of a training and of the stock one that it took turns with.

    Raises:
        RuntimeError: If stock TensorFlow failed.
    """
    child.unless_failed(stock)
    kept = {name: one[name] for name in _KEPT if name in one}
    for name in ("peak_bytes", "resident_bytes", "step_time_s"):
        kept[f"stock_{name}"] = stock[name]
    if "error" not in one:
        kept["of_stock"] = turns.ratio(
            turns.counted_times(one), turns.counted_times(stock)
        )
        kept["drift"] = _drift(stock)
    return kept


def _drift(stock):
    """How much slower the machine was later than when ops were timed."""
    timed = statistics.mean(stock["step_times_s"][TIMED_STEPS])
    return stock["step_time_s"] / timed


def measure(name, found, train):
    """Measures a line.

    Args:
        name: One of `LINES`, that applies.
        found: What was measured of the network; the route at least, unless it
            is that.
        train: Called with arguments of `benchmarks.train_step`; trains so and
            with stock TensorFlow, in turn, and returns the `record`.

    Returns:
        Its record.

    Raises:
        RuntimeError: If stock TensorFlow failed, or the route.
    """
    line = LINES[name]
    if name == ROUTE:
        return child.unless_failed(train("--mode", "order"))

    def run(budget):
        return train(
            *("--mode", "sn", "--tiers", line.tiers, "--budget", budget)
        )

    if line.share:
        return run(share_budget(line, found))
    if name == FLOOR:
        return _at_the_floor(floor_budget(floor_bytes(found)), run)
    one = _smallest(_least_known(found), run)
    return _raised(one, line.most, run)


def _at_the_floor(budget, run):
    """Runs again where a plan that has measured more knows a higher floor."""
    for _ in range(_MOST_RUNS):
        one = run(budget)
        higher = floor_budget(one["floor_bytes"] or 0)
        if higher <= budget * (1 + _SAME):
            break
        budget = higher
    return one


def _least_known(found):
    """The smallest budget that plans without tiers say they can meet."""
    told = [
        found["lines"][name]["min_budget_bytes"]
        for name, line in LINES.items()
        if line.tiers == "none" and line.share and name in found["lines"]
    ]
    return min(filter(None, told), default=floor_budget(floor_bytes(found)))


def _smallest(budget, run):
    """Follows what the plans say of the smallest budget, up and down."""
    best = None
    for _ in range(_MOST_RUNS):
        one = run(budget)
        least = one["min_budget_bytes"] or 0
        if "error" in one:
            if best is not None:
                break
            budget = max(least, math.ceil(budget * (1 + _SAME)))
            continue
        best = one
        if not 0 < least < budget * (1 - _SAME):
            break
        budget = least
    return one if best is None else best


def _raised(one, most, run):
    """Runs in larger budgets until a step takes no more than it may."""
    for _ in range(_MOST_RUNS):
        if "error" in one or one["of_stock"] <= most:
            break
        one = run(math.ceil(_RAISE * one["budget_bytes"]))
    return one


def of_planned_peak(one):
    """The peak that the plan expects / that of the measured steps."""
    return one["expected_peak_bytes"] / one["step_peak_bytes"]


def of_planned_time(one):
    """Planned time of a step / the measured one, both at one speed."""
    planned = one["step_seconds"] + one["added_seconds"]
    return planned * one["drift"] / one["step_time_s"]


def faults(name, found):
    """The targets that a line misses; an empty list if none, or none applies.

    A plan is held to its word too, where it moves something: to the peak that
    it expects, and to the time of a step, were the machine as fast as when ops
    were timed; how fast it is, stock TensorFlow tells in the same turns.
    """
    if not applies(name, found):
        return []
    if name not in found["lines"]:
        return ["not measured"]
    one, line = found["lines"][name], LINES[name]
    if "error" in one:
        return [f"{one['error']}: {one['message']}"]
    problems = []
    if one["of_stock"] > line.most:
        problems.append(f"step {one['of_stock']:.3f} of stock's")
    if name == ROUTE:
        return problems
    if one["peak_bytes"] > one["budget_bytes"]:
        problems.append("peak above the budget")
    route = found["lines"][ROUTE]
    for field, what in (("weights_sha256", "weights"), ("loss", "losses")):
        if one[field] != route[field]:
            problems.append(f"{what} differ")
    for what, ratio, within in (
        ("peak", of_planned_peak(one), PEAK_WITHIN),
        ("step time", of_planned_time(one), TIME_WITHIN),
    ):
        if abs(ratio - 1) > within:
            problems.append(f"planned {what} {ratio:.3f} of the measured")
    return problems
