# SPDX-License-Identifier: Apache-2.0
"""Trains each network inside half of what it takes without a budget.

For every network and optimizer: its stock peak; then the plan's route alone,
for the weights it ends with and the floor; then the whole plan inside the
larger of half the stock peak and 1.15 times the floor. A line passes if that
peak is within the budget and weights and losses are equal to the last bit.

The route alone is planned by estimates, which miss the ops' workspaces. A plan
that has measured them may thus know a higher floor than the budget came from;
the budget then follows from that floor, and the line is run again.

Exit status: 0, or 1 when a line failed.
"""

import json
import math
import sys

from benchmarks import arguments, child, markdown, output

# Batch and image: activations outweigh weights, and a step takes seconds.
SIZES = {
    "vgg16": (32, 112),
    "densenet121": (32, 112),
    "mobilenetv2": (32, 112),
    "inceptionv3": (32, 139),
    "resnet50": (32, 112),
    "unet": (16, 112),
    "transformer": (32, 112),
    "lstm": (128, 112),
}
OPTIMIZERS = ("momentum", "adam")
_STOCK_SHARE = 0.5
_FLOOR_SHARE = 1.15
_SAME_FLOOR = 1.01


def parse(argv=None):
    """Returns the parsed command line."""
    parser = arguments.command_parser("benchmarks.suite", __doc__)
    parser.add_argument(
        "--models", nargs="+", choices=SIZES, default=list(SIZES)
    )
    parser.add_argument(
        "--optimizers", nargs="+", choices=OPTIMIZERS, default=OPTIMIZERS
    )
    parser.add_argument(
        "--steps", type=int, default=2, help="measured steps (%(default)s)"
    )
    parser.add_argument("--batch", type=int, help="(by network)")
    parser.add_argument("--image", type=int, help="(by network)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args(argv)


def budget_for(stock_peak_bytes, floor_bytes):
    """The budget of a line; see the module."""
    return math.ceil(
        max(_STOCK_SHARE * stock_peak_bytes, _FLOOR_SHARE * floor_bytes)
    )


def faults(order, planned):
    """What is wrong with a line's results; an empty list if nothing is."""
    if planned["peak_bytes"] > planned["budget_bytes"]:
        return ["peak above the budget"]
    found = []
    if planned["loss"] != order["loss"]:
        found.append("losses differ")
    if planned["weights_sha256"] != order["weights_sha256"]:
        found.append("weights differ")
    return found


def run_line(options, model, optimizer):
    """Runs one line and returns it as a dictionary."""
    batch, image = SIZES[model]
    common = [
        *("--model", model, "--optimizer", optimizer),
        *("--batch", options.batch or batch, "--image", options.image or image),
        *("--steps", options.steps),
    ]

    def run(mode, *arguments):
        text = " ".join(map(str, (model, optimizer, mode, *arguments)))
        output.progress(text)
        return child.train_step(*common, "--mode", mode, *arguments, quiet=True)

    stock, order = run("stock"), run("order")
    line = {"model": model, "optimizer": optimizer, "faults": []}
    for one in (stock, order):
        if "error" in one:
            line["faults"].append(child.failure(one))
    if line["faults"]:
        return line
    planned = run_planned(stock["peak_bytes"], order["floor_bytes"] or 0, run)
    line |= {
        "stock_peak_bytes": stock["peak_bytes"],
        "order_peak_bytes": order["peak_bytes"],
        "floor_bytes": planned["floor_bytes"],
        "budget_bytes": planned["budget_bytes"],
        "stock_step_time_s": stock["step_time_s"],
    }
    if "error" in planned:
        return line | {"faults": [child.failure(planned)]}
    return line | {
        "peak_bytes": planned["peak_bytes"],
        "step_time_s": planned["step_time_s"],
        "faults": faults(order, planned),
    }


def run_planned(stock_peak_bytes, floor_bytes, run):
    """Runs mode sn in the budget of a line, and again where the floor rose.

    Args:
        stock_peak_bytes: Peak of mode stock.
        floor_bytes: The floor as far as it is known.
        run: Called with the arguments of a run; returns its result.
    """
    budget = budget_for(stock_peak_bytes, floor_bytes)
    while True:
        planned = run("sn", "--budget", budget)
        higher = budget_for(stock_peak_bytes, planned["floor_bytes"] or 0)
        # Measured floors of two runs differ by little, if at all.
        if higher <= budget * _SAME_FLOOR:
            return planned
        budget = higher


def table(lines):
    """The lines as a markdown table, sizes in MB."""
    names = (
        ("stock_peak_bytes", "stock peak"),
        ("order_peak_bytes", "route alone"),
        ("floor_bytes", "floor"),
        ("budget_bytes", "budget"),
        ("peak_bytes", "peak"),
    )
    head = ["network", "optimizer", *(label for _, label in names)]
    head += ["step time / stock", "result"]
    rows = []
    for line in lines:
        sizes = [
            f"{line[name] / 1e6:.1f}" if line.get(name) else "-"
            for name, _ in names
        ]
        slowdown = "-"
        if "step_time_s" in line:
            slowdown = f"{line['step_time_s'] / line['stock_step_time_s']:.2f}"
        verdict = "; ".join(line["faults"]) or "same bits, within the budget"
        rows.append(
            [line["model"], line["optimizer"], *sizes, slowdown, verdict]
        )
    return markdown.table(head, rows)


def main(argv=None):
    """Entry point of `python -m benchmarks.suite`."""
    options = parse(argv)
    lines = [
        run_line(options, model, optimizer)
        for model in options.models
        for optimizer in options.optimizers
    ]
    print(json.dumps(lines) if options.json else table(lines))
    return 1 if any(line["faults"] for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
