# SPDX-License-Identifier: Apache-2.0
"""What the tensor cache spares: one network at growing batch, in one budget.

Policy vdnn_all lets everything leave that is idle. With the cache it stays
until memory is needed; without it, all of it moves in every step. The working
set is the peak of the same route with nothing moved; what of it passes the
budget does not fit. For every batch, both train in turn, step by step.

Whole buffers leave, the least recently used first, until there is room. So what
moves is what does not fit, and up to one buffer more: the largest that may.

AlexNet, as of 2012, cannot be trained far beyond its budget: the backward op of
its first normalisation has four of the largest buffers at once, 4.6 MB for each
image, while a whole step holds 5.8 MB. A network with many small layers can:
`--model resnet50 --image 112 --batches 8 16 24 32 40 --budget 500MB`.

Targets: nothing moves while the working set fits; beyond, what moves out is at
most what does not fit and one buffer; the weights are the same bits.

Exit status: 0, or 1 when a target is missed.
"""

import statistics
import sys

from benchmarks import arguments, child, markdown, output, turns

_BATCHES = (64, 128, 144, 160)


def parse(argv=None):
    """Returns the parsed command line."""
    parser = arguments.command_parser("benchmarks.cache", __doc__)
    arguments.add_network_arguments(parser, model="alexnet", image=227)
    parser.add_argument(
        "--batches",
        nargs="+",
        type=int,
        default=list(_BATCHES),
        help="(%(default)s)",
    )
    parser.add_argument("--budget", default="1200MB", help="(%(default)s)")
    parser.add_argument("--tiers", default="host", help="(%(default)s)")
    arguments.add_comparison_arguments(parser, steps=2)
    return parser.parse_args(argv)


def run_batch(options, batch):
    """Trains a batch size: the route alone, then with and without cache."""
    common = [*arguments.network(options, batch), "--steps", options.steps]
    planned = [
        *(*common, *arguments.tiers(options, options.tiers)),
        *("--mode", "sn", "--policy", "vdnn_all", "--budget", options.budget),
    ]
    output.progress(f"batch {batch}")
    order = child.train_step(*common, "--mode", "order", quiet=True)
    on, off = turns.train_in_turn(
        [*planned, "--cache", "on"], [*planned, "--cache", "off"]
    )
    return line_of(batch, order, on, off)


def line_of(batch, order, on, off):
    """What came of one batch size, of the results of its three trainings."""
    for one in (order, on, off):
        if "error" in one:
            return {"batch": batch, "faults": [child.failure(one)]}
    working_set = order["step_peak_bytes"]
    line = {
        "batch": batch,
        "budget_bytes": on["budget_bytes"],
        "working_set_bytes": working_set,
        "unfit_bytes": max(0, working_set - on["budget_bytes"]),
        "largest_buffer_bytes": max(on["swap_sizes"], default=0),
        "out_bytes": {
            "on": on["swapped_out_bytes_per_step"],
            "off": off["swapped_out_bytes_per_step"],
        },
        "in_bytes": {
            "on": on["swapped_in_bytes_per_step"],
            "off": off["swapped_in_bytes_per_step"],
        },
        "evictions": on["evictions_per_step"],
        "stall_seconds": on["stall_seconds_per_step"],
        "step_times_s": {
            "order": turns.counted_times(order),
            "on": turns.counted_times(on),
            "off": turns.counted_times(off),
        },
        "ratio": turns.ratio(turns.counted_times(on), turns.counted_times(off)),
        "same_weights": on["weights_sha256"]
        == off["weights_sha256"]
        == order["weights_sha256"],
    }
    return line | {"faults": faults(line)}


def faults(line):
    """The targets that a line misses; see the module."""
    found = []
    unfit, moved = line["unfit_bytes"], line["out_bytes"]["on"]
    if unfit == 0 and moved > 0:
        found.append(f"{moved:.0f} bytes moved although the working set fits")
    most = unfit + line["largest_buffer_bytes"]
    if unfit > 0 and moved > most:
        found.append(f"{moved:.0f} bytes moved, more than {most}")
    if not line["same_weights"]:
        found.append("weights differ")
    return found


def table(lines):
    """The lines as a markdown table."""
    head = [
        *("batch", "working set", "does not fit", "one buffer"),
        *("moved out, cache on", "off", "step, cache on", "off", "on / off"),
        "targets",
    ]
    rows = []
    for line in lines:
        if "ratio" not in line:
            blank = ["-"] * (len(head) - 2)
            rows.append([str(line["batch"]), *blank, *line["faults"]])
            continue
        times = line["step_times_s"]
        rows.append(
            [
                str(line["batch"]),
                markdown.megabytes(line["working_set_bytes"]),
                markdown.megabytes(line["unfit_bytes"]),
                markdown.megabytes(line["largest_buffer_bytes"]),
                markdown.megabytes(line["out_bytes"]["on"]),
                markdown.megabytes(line["out_bytes"]["off"]),
                f"{statistics.median(times['on']):.3f} s",
                f"{statistics.median(times['off']):.3f} s",
                f"{line['ratio']:.3f}",
                "; ".join(line["faults"]) or "met",
            ]
        )
    return markdown.table(head, rows)


def main(argv=None):
    """Entry point of `python -m benchmarks.cache`."""
    options = parse(argv)
    lines = [run_batch(options, batch) for batch in options.batches]
    title = f"{options.model}, {options.image}x{options.image}, budget "
    title += f"{options.budget}, tiers {options.tiers}"
    return output.print_lines(lines, table, options, title)


if __name__ == "__main__":
    sys.exit(main())
