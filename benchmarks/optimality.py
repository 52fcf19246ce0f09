# SPDX-License-Identifier: Apache-2.0
"""How near the default policy comes to the best plan that there is.

Blocks of networks are trained for a few steps each (benchmarks.blocks). What
the pass has planned there is planned again, without running anything: by the
default policy, and by the optimal planner (sn_tf.optimal), which is given the
default policy's plan to beat. Once with swaps and recomputation, and once with
recomputation alone, in three budgets: 1.05 times the smallest in which there is
any plan, 0.7 times the peak of the route with nothing moved, and half way
between; where the first is no less than the second, up to half way between it
and that peak.

Graphs of many ops are coarsened first, for both.

Target: what the default policy adds to the route's time, as the planner
foresees it, is at most 1.05 times what the best plan adds. Less than a
ten-thousandth of the route's time counts as that. Where time is up before the
best plan is known, it is held against what no plan adds less than.

Exit status: 0, or 1 when the target is missed, or not proved to be met.
"""

import dataclasses
import sys

from benchmarks import arguments, blocks, markdown, output
from sn_tf.graphs import plan_graph
from sn_tf.optimal import coarsened, optimal_plan, smallest_plan
from sn_tf.options import Options

TIERS = ("host", "none")
_TARGET = 1.05
# Part of the route's time that added times are compared from.
_LEAST = 1e-4
_ABOVE_SMALLEST = 1.05
_BELOW_PEAK = 0.7
# Parts of a step.
_PRECISION = 0.001


def parse(argv=None):
    """Returns the parsed command line."""
    parser = arguments.command_parser("benchmarks.optimality", __doc__)
    parser.add_argument(
        "--blocks", nargs="+", choices=blocks.BLOCKS, default=[*blocks.BLOCKS]
    )
    parser.add_argument("--tiers", nargs="+", choices=TIERS, default=TIERS)
    parser.add_argument(
        "--link-bandwidth",
        type=float,
        default=6e9,
        help="of the link to host memory, in bytes/s (%(default)g)",
    )
    parser.add_argument(
        "--ops",
        type=int,
        help="above so many, graphs are coarsened (by the block)",
    )
    parser.add_argument(
        "--time-limit",
        type=float,
        default=300,
        help="seconds for each best plan (%(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args(argv)


def budgets_of(smallest, route_peak):
    """The budgets to plan for, ascending, in bytes.

    Args:
        smallest: Smallest budget in which there is a plan.
        route_peak: Peak of the route with nothing moved.
    """
    low = int(_ABOVE_SMALLEST * smallest)
    high = int(_BELOW_PEAK * route_peak)
    if high <= low:
        high = (low + route_peak) // 2
    return [low, (low + high) // 2, high]


def run_block(name, options):
    """Yields a line for each budget of a block."""
    graph = blocks.graph_of(name)
    most_ops = options.ops or blocks.most_ops(name)
    for tiers in options.tiers:
        planned = Options(
            budget_bytes=2**60,
            tiers=tiers,
            link_bandwidth_bytes_per_s=int(options.link_bandwidth),
        )
        route = plan_graph(graph, planned).route
        coarse = coarsened(graph, route, most_ops)
        smallest = smallest_plan(coarse, planned, time_limit=options.time_limit)
        for budget in budgets_of(
            smallest.peak_bytes, smallest.route_peak_bytes
        ):
            output.progress(f"{name}, tiers {tiers}: {budget / 1e6:.1f} MB")
            within = dataclasses.replace(planned, budget_bytes=budget)
            auto = plan_graph(coarse, within)
            best = optimal_plan(
                coarse,
                within,
                time_limit=options.time_limit,
                precision=_PRECISION,
                rivals=[auto],
            )
            yield line_of(name, tiers, coarse, auto, best)


def line_of(name, tiers, graph, auto, best):
    """One comparison.

    Args:
        name: Name of the block.
        tiers: "host" or "none".
        graph: Its graph.
        auto: Plan of the default policy.
        best: What the optimal planner found.
    """
    line = {
        "block": name,
        "tiers": tiers,
        "ops": len(graph.ops),
        "buffers": len(graph.buffers),
        "budget_bytes": auto.budget_bytes,
        "route_peak_bytes": auto.route_peak_bytes,
        "step_s": auto.step_seconds,
        "auto_added_s": auto.added_seconds if auto.holds else None,
        "best_added_s": best.plan.added_seconds if best.plan else None,
        "bound_s": best.bound_seconds,
        "solve_s": best.solve_seconds,
        **dict.fromkeys(("ratio", "most_ratio", "step_ratio")),
    }
    if auto.holds:
        step, added = auto.step_seconds, auto.added_seconds
        least = _LEAST * step
        line["ratio"] = ratio_of(added, best.plan.added_seconds, least)
        line["most_ratio"] = ratio_of(added, best.bound_seconds, least)
        line["step_ratio"] = (step + added) / (step + best.plan.added_seconds)
    return line | {"faults": faults(line)}


def ratio_of(added, best, least):
    """One added time over another; less than `least` counts as that."""
    return max(least, added) / max(least, best)


def faults(line):
    """The targets that a line misses; see the module."""
    if line["ratio"] is None:
        return ["no plan of the default policy"]
    if line["ratio"] > _TARGET:
        return [f"ratio above {_TARGET}"]
    if line["most_ratio"] > _TARGET:
        return [f"ratio of at most {_TARGET} not proved in time"]
    return []


def table(lines):
    """The lines as a markdown table."""
    head = [
        *("block", "tiers", "ops", "budget", "of the route's peak", "route"),
        *("auto adds", "best plan adds", "no plan adds less than"),
        *("auto / best", "at most", "step of auto / best"),
        *("solved in", "targets"),
    ]
    return markdown.table(head, [_cells(line) for line in lines])


def _cells(line):
    share = line["budget_bytes"] / line["route_peak_bytes"]
    return [
        line["block"],
        line["tiers"],
        line["ops"],
        markdown.megabytes(line["budget_bytes"]),
        f"{share:.0%}",
        _milliseconds(line["step_s"]),
        _milliseconds(line["auto_added_s"]),
        _milliseconds(line["best_added_s"]),
        _milliseconds(line["bound_s"]),
        *map(_ratio, (line["ratio"], line["most_ratio"], line["step_ratio"])),
        f"{line['solve_s']:.0f} s",
        "; ".join(line["faults"]) or "met",
    ]


def _ratio(value):
    return "-" if value is None else f"{value:.3f}"


def _milliseconds(seconds):
    return "-" if seconds is None else f"{1e3 * seconds:.3f} ms"


def main(argv=None):
    """Entry point of `python -m benchmarks.optimality`."""
    options = parse(argv)
    lines = [
        line for name in options.blocks for line in run_block(name, options)
    ]
    return output.print_lines(lines, table, options)


if __name__ == "__main__":
    sys.exit(main())
