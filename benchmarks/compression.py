# SPDX-License-Identifier: Apache-2.0
"""What the compressed tier saves and costs, beside the others.

For each network, the same training with policy swap in the same budget, with
each tier, and the plan's route with nothing moved: all in turn, step by step.
The budget is half of the route's peak, or what the largest op needs and 15%
more. The ratio is of bytes moved out to the bytes that they took on the tier.

Plans know the tiers' bandwidths, so they may move other buffers to a slow tier
than to a fast one.

Targets: the weights are the same bits everywhere, peaks are within the budget,
and the compressed tier takes less than what moves to it.

Exit status: 0, or 1 when a target is missed.
"""

import math
import statistics
import sys

from benchmarks import arguments, child, markdown, output, turns

_TIERS = ("host", "compressed", "file")
# Batch and image.
_SIZES = {"resnet50": (32, 112), "unet": (16, 112)}
_ROUTE_SHARE = 0.5
_FLOOR_SHARE = 1.15


def parse(argv=None):
    """Returns the parsed command line."""
    parser = arguments.command_parser("benchmarks.compression", __doc__)
    parser.add_argument(
        "--models", nargs="+", default=list(_SIZES), help="(%(default)s)"
    )
    parser.add_argument("--depth", type=int, help="of networks that have one")
    parser.add_argument("--batch", type=int, help="(by network)")
    parser.add_argument("--image", type=int, help="(by network)")
    parser.add_argument("--budget", help="(by the route's peak)")
    arguments.add_comparison_arguments(parser, steps=8)
    return parser.parse_args(argv)


def run_model(options, model):
    """Trains one network with every tier; returns a line for each."""
    batch, image = _SIZES.get(model, (32, 32))
    common = arguments.network(
        options,
        options.batch or batch,
        model=model,
        image=options.image or image,
    )
    budget = options.budget or _budget(common)
    common += ["--steps", options.steps]
    runs = [[*common, "--mode", "order"]]
    for tier in _TIERS:
        runs.append(
            [
                *(*common, *arguments.tiers(options, tier)),
                *("--mode", "sn", "--policy", "swap", "--budget", budget),
            ]
        )
    output.progress(f"{model}, budget {budget}")
    order, *tiers = turns.train_in_turn(*runs)
    return lines_of(order, dict(zip(_TIERS, tiers, strict=True)))


def _budget(common):
    """Of the route alone; see the module."""
    order = child.train_step(
        *common, "--steps", 1, "--mode", "order", quiet=True
    )
    return budget_for(order["peak_bytes"], order["floor_bytes"])


def budget_for(peak_bytes, floor_bytes):
    """A budget that is tight and can be met.

    Args:
        peak_bytes: Peak without a budget.
        floor_bytes: The floor.
    """
    return math.ceil(max(_ROUTE_SHARE * peak_bytes, _FLOOR_SHARE * floor_bytes))


def lines_of(order, by_tier):
    """A line for each tier.

    Args:
        order: Result of the route alone.
        by_tier: Dictionary from tier to result, host among them.
    """
    host = by_tier["host"]
    lines = []
    for tier, one in by_tier.items():
        line = {"model": one["model"], "tier": tier}
        if "error" in one:
            line["faults"] = [child.failure(one)]
            lines.append(line)
            continue
        stats = next(each for each in one["tier_stats"] if each["name"] == tier)
        times = turns.counted_times(one)
        line |= {
            "budget_bytes": one["budget_bytes"],
            "peak_bytes": one["peak_bytes"],
            "out_bytes_per_step": one["swapped_out_bytes_per_step"],
            "ratio": stats["out_bytes"] / max(1, stats["out_taken_bytes"]),
            "step_time_s": statistics.median(times),
            "of_order": turns.ratio(times, turns.counted_times(order)),
            "of_host": None
            if "error" in host
            else turns.ratio(times, turns.counted_times(host)),
            "stall_seconds": one["stall_seconds_per_step"],
            "same_weights": one["weights_sha256"] == order["weights_sha256"],
        }
        lines.append(line | {"faults": faults(line)})
    return lines


def faults(line):
    """The targets that a line misses; see the module."""
    found = []
    if not line["same_weights"]:
        found.append("weights differ")
    if line["peak_bytes"] > line["budget_bytes"]:
        found.append("peak above the budget")
    if line["out_bytes_per_step"] == 0:
        found.append("nothing moved")
    if line["tier"] == "compressed" and line["ratio"] <= 1:
        found.append("nothing saved")
    return found


def table(lines):
    """The lines as a markdown table."""
    head = [
        *("network", "tier", "budget", "moved out", "bytes / bytes taken"),
        *("step", "step / route alone", "step / host tier", "stalls"),
        "targets",
    ]
    rows = []
    for line in lines:
        begin = [line["model"], line["tier"]]
        if "ratio" not in line:
            blank = ["-"] * (len(head) - 3)
            rows.append([*begin, *blank, *line["faults"]])
            continue
        of_host = line["of_host"]
        rows.append(
            [
                *begin,
                markdown.megabytes(line["budget_bytes"]),
                markdown.megabytes(line["out_bytes_per_step"]),
                f"{line['ratio']:.3f}",
                f"{line['step_time_s']:.3f} s",
                f"{line['of_order']:.3f}",
                "-" if of_host is None else f"{of_host:.3f}",
                f"{line['stall_seconds']:.3f} s",
                "; ".join(line["faults"]) or "met",
            ]
        )
    return markdown.table(head, rows)


def main(argv=None):
    """Entry point of `python -m benchmarks.compression`."""
    options = parse(argv)
    lines = [
        line for model in options.models for line in run_model(options, model)
    ]
    return output.print_lines(lines, table, options)


if __name__ == "__main__":
    sys.exit(main())
