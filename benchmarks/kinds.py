# SPDX-License-Identifier: Apache-2.0
"""Kinds of training, each in a share of the memory that stock TensorFlow takes.

The kinds are those of benchmarks.kind_trainings. Of each, stock TensorFlow
tells what a step takes over what is in use before it; the budget leaves the
wanted share of that. Then the plan's route with nothing moved, and sn inside
the budget, train in turn, step by step, each in a process of its own.

Targets: the budget is kept, something moves, and the weights are the same bits
as those of the route.

Exit status: 0, or 1 when a target is missed.
"""

import sys

from benchmarks import arguments, child, markdown, output, turns

_MODULE = "benchmarks.kind_step"


def parse(argv=None):
    """Returns the parsed command line."""
    parser = arguments.command_parser("benchmarks.kinds", __doc__)
    parser.add_argument("--kinds", nargs="+", help="(all)")
    parser.add_argument(
        "--rows", type=int, default=4096, help="of a batch (%(default)s)"
    )
    parser.add_argument(
        "--share", type=float, default=0.5, help="(%(default)s)"
    )
    parser.add_argument(
        "--steps", type=int, default=15, help="measured steps (%(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args(argv)


def run_kind(options, kind):
    """Measures one kind and returns a line of the table."""
    output.progress(kind)
    common = [kind, "--rows", options.rows, "--steps", options.steps]
    try:
        stock = child.run(_MODULE, [*common, "--mode", "stock"], quiet=True)
        room = int(
            options.share * (stock["peak_bytes"] - stock["before_bytes"])
        )
        order, sn = turns.run_in_turn(
            (_MODULE, [*common, "--mode", "order"]),
            (_MODULE, [*common, "--mode", "sn", "--room", room]),
        )
    except RuntimeError as error:
        return {"kind": kind, "faults": [str(error)]}
    return line_of(kind, stock, order, sn)


def line_of(kind, stock, order, sn):
    """What came of one kind, of the results of its three trainings."""
    line = {
        "kind": kind,
        "stock_peak_bytes": stock["peak_bytes"],
        "before_bytes": stock["before_bytes"],
        "budget_bytes": sn["budget_bytes"],
        "peak_bytes": sn["peak_bytes"],
        "moves": sn["moves"],
        "ratio": turns.ratio(
            turns.counted_times(sn), turns.counted_times(order)
        ),
        "same_weights": sn["weights_sha256"] == order["weights_sha256"],
        "reason": sn["reason"],
    }
    return line | {"faults": faults(line)}


def faults(line):
    """The targets that a line misses; see the module."""
    found = []
    if line["peak_bytes"] > line["budget_bytes"]:
        found.append("over the budget")
    if line["moves"] == 0:
        found.append(line["reason"] or "nothing moves")
    if not line["same_weights"]:
        found.append("weights differ")
    return found


def table(lines):
    """The lines as a markdown table."""
    head = [
        *("kind", "in use before", "stock peak", "budget", "peak", "moves"),
        *("step / route's", "the route's weights", "targets"),
    ]
    rows = []
    for line in lines:
        if "ratio" not in line:
            told = " ".join(line["faults"][0].split())[-300:]
            rows.append([line["kind"], *["-"] * (len(head) - 2), told])
            continue
        sizes = ("before_bytes", "stock_peak_bytes", "budget_bytes")
        rows.append(
            [
                line["kind"],
                *(markdown.megabytes(line[name]) for name in sizes),
                markdown.megabytes(line["peak_bytes"]),
                line["moves"],
                f"{line['ratio']:.3f}",
                markdown.yes(line["same_weights"]),
                "; ".join(line["faults"]) or "met",
            ]
        )
    return markdown.table(head, rows)


def main(argv=None):
    """Entry point of `python -m benchmarks.kinds`."""
    options = parse(argv)
    from benchmarks import kind_trainings

    kinds = options.kinds or list(kind_trainings.KINDS)
    lines = [run_kind(options, kind) for kind in kinds]
    title = f"Batches of {options.rows}, {options.share:.0%} of stock's memory"
    return output.print_lines(lines, table, options, title)


if __name__ == "__main__":
    sys.exit(main())
