# SPDX-License-Identifier: Apache-2.0
"""Whether more memory ever makes a plan slower, and every budget is kept.

A network is trained for some steps inside half of the route's peak. From the
graph that was measured there, plans are made for budgets in equal steps, from a
little more than the smallest that has a plan to the route's peak, with swaps to
host memory and with recomputation alone. Then the network is trained inside
each budget, and nothing is left of what was learned before.

Targets: no plan adds more time than that of a smaller budget, as the planner
foresees it; no training passes its budget; weights and losses are those of the
route, to the last bit.

Exit status: 0, or 1 when a target is missed.
"""

import dataclasses
import json
import math
import sys
import tempfile
from pathlib import Path

import models
from benchmarks import arguments, child, markdown, output
from sn_tf.graphs import Graph, plan_graph
from sn_tf.options import Options

TIERS = ("host", "none")
_MODELS = ("resnet50", "densenet121", "transformer")
_BATCH, _IMAGE = 16, 64
_ROUTE_SHARE = 0.5
# What is resident differs a little from one process to the next.
_ABOVE_SMALLEST = 1.02
_SAME_SECONDS = 1e-9


def parse(argv=None):
    """Returns the parsed command line."""
    parser = arguments.command_parser("benchmarks.budgets", __doc__)
    parser.add_argument(
        "--models", nargs="+", choices=models.NAMES, default=list(_MODELS)
    )
    parser.add_argument("--tiers", nargs="+", choices=TIERS, default=TIERS)
    parser.add_argument("--depth", type=int, help="of networks that have one")
    parser.add_argument(
        "--batch", type=int, default=_BATCH, help="(%(default)s)"
    )
    parser.add_argument(
        "--image", type=int, default=_IMAGE, help="(%(default)s)"
    )
    parser.add_argument(
        "--budgets", type=int, default=20, help="of a sweep (%(default)s)"
    )
    parser.add_argument(
        "--steps", type=int, default=1, help="measured steps (%(default)s)"
    )
    parser.add_argument(
        "--plans-only", action="store_true", help="train nothing inside them"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    if options.budgets < 2:
        parser.error(
            f"--budgets must be at least 2. Received: {options.budgets}"
        )
    return options


def budgets_of(smallest, peak, count):
    """`count` budgets in equal steps, ascending, in bytes.

    Args:
        smallest: Smallest budget in which there is a plan.
        peak: Of the route.
        count: How many, at least 2.
    """
    low = min(math.ceil(_ABOVE_SMALLEST * smallest), peak)
    return [low + (peak - low) * i // (count - 1) for i in range(count)]


def measured_graph(common, tiers, budget):
    """Trains inside a budget, and reads what the pass has measured.

    Args:
        common: The network, for `benchmarks.train_step`.
        tiers: "host" or "none".
        budget: Bytes; where no plan fits, a little more than the smallest that
            has one.

    Returns:
        The graph of the step, and the options that it was planned with.
    """
    with tempfile.TemporaryDirectory() as folder:
        reported = ("env", f"SN_TF_REPORT_DIR={folder}")
        one = _train_inside(common, tiers, budget, prefix=reported)
        if one.get("error") == "InfeasibleBudget":
            budget = math.ceil(_ABOVE_SMALLEST * one["min_budget_bytes"])
            one = _train_inside(common, tiers, budget, prefix=reported)
        child.unless_failed(one)
        graphs = [
            json.loads(one.read_text())
            for one in Path(folder).glob("*.graph.json")
        ]
    largest = max(graphs, key=lambda values: len(values["ops"]))
    return Graph.from_dict(largest), Options(**largest["options"])


def _train_inside(common, tiers, budget, **how):
    within = ["--mode", "sn", "--tiers", tiers, "--budget", budget]
    return child.run(
        "benchmarks.train_step", [*common, *within], quiet=True, **how
    )


def planned_lines(graph, options, count):
    """A line for each budget of a sweep: what its plan comes to."""

    def plan_for(budget):
        return plan_graph(
            graph, dataclasses.replace(options, budget_bytes=budget)
        )

    smallest = plan_for(1)
    lines = []
    fastest = None
    for budget in budgets_of(
        smallest.min_budget_bytes, smallest.route_peak_bytes, count
    ):
        plan = plan_for(budget)
        lines.append(
            {
                "budget_bytes": budget,
                "of_peak": budget / plan.route_peak_bytes,
                "holds": plan.holds,
                "added_s": plan.added_seconds,
                "fastest_before_s": fastest,
                "step_s": plan.step_seconds,
                "peak_bytes": None,
            }
        )
        fastest = min(line["added_s"] for line in lines)
    return lines


def _train(common, tiers, budget, route):
    """What a training inside the budget comes to."""
    one = _train_inside(common, tiers, budget)
    if "error" in one:
        return {"error": f"{one['error']}: {one['message']}"}
    return {
        "peak_bytes": one["peak_bytes"],
        "same": all(
            one[field] == route[field] for field in ("weights_sha256", "loss")
        ),
    }


def run_model(options, model):
    """Yields the lines of one network."""
    common = arguments.network(options, options.batch, model=model)
    common += ["--steps", options.steps]
    route = child.unless_failed(
        child.run(
            "benchmarks.train_step", [*common, "--mode", "order"], quiet=True
        )
    )
    half = math.ceil(_ROUTE_SHARE * route["peak_bytes"])
    for tiers in options.tiers:
        graph, planned = measured_graph(common, tiers, half)
        lines = planned_lines(graph, planned, options.budgets)
        for line in lines:
            line |= {"model": model, "tiers": tiers}
            if not options.plans_only:
                line |= _train(common, tiers, line["budget_bytes"], route)
            line["faults"] = faults(line)
            output.progress(
                f"{model}, {tiers}, {markdown.megabytes(line['budget_bytes'])}:"
                f" {'; '.join(line['faults']) or 'met'}"
            )
            yield line


def faults(line):
    """The targets that a line misses."""
    problems = []
    if not line["holds"]:
        problems.append("no plan")
    before = line["fastest_before_s"]
    if before is not None and line["added_s"] > before + _SAME_SECONDS:
        problems.append("slower than in a smaller budget")
    if "error" in line:
        return [*problems, line["error"]]
    if line["peak_bytes"] is None:
        return problems
    if line["peak_bytes"] > line["budget_bytes"]:
        problems.append("budget passed")
    if not line["same"]:
        problems.append("weights differ")
    return problems


def table(lines):
    """The lines as a markdown table."""
    head = [
        *("network", "tiers", "budget", "of the route's peak"),
        *("the plan adds", "peak", "the route's weights", "targets"),
    ]
    return markdown.table(
        head,
        [
            [
                line["model"],
                line["tiers"],
                markdown.megabytes(line["budget_bytes"]),
                f"{line['of_peak']:.3f}",
                f"{line['added_s'] / line['step_s']:.2%}",
                markdown.megabytes(line["peak_bytes"]),
                markdown.yes(line["same"]) if "same" in line else "-",
                "; ".join(line["faults"]) or "met",
            ]
            for line in lines
        ],
    )


def main(argv=None):
    """Entry point of `python -m benchmarks.budgets`."""
    options = parse(argv)
    lines = [
        line for model in options.models for line in run_model(options, model)
    ]
    print(json.dumps(lines) if options.json else table(lines))
    return 1 if any(line["faults"] for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
