# SPDX-License-Identifier: Apache-2.0
"""Trains a model, and writes what its last steps allocate as a trace.

A trace is a text that `benchmarks/arena_replay.cc` reads:

    sn_tf_arena_trace 1
    budgeted <1 or 0>         whether the training had a budget
    resident <count>
    <bytes>                   of each block that is in use when the steps begin
    events <count>
    a <block> <bytes>         allocates
    f <block>                 frees

Blocks are numbered from 0, the resident ones first, in the order in which they
stand; a number is used again once its block is free. Sizes are multiples of 64
bytes, which is also the alignment that TensorFlow asks for.
"""

import os
import sys
from pathlib import Path


def encode(resident, events, *, budgeted):
    """Returns the text of a trace.

    Args:
        resident: [offset, bytes] of each block in use at its beginning.
        events: As from `Library.stop_trace`.
        budgeted: Whether the training had a budget.

    Raises:
        ValueError: If a block is freed that is not in use.
    """
    numbers = {offset: number for number, (offset, _) in enumerate(resident)}
    unused = []
    known = len(numbers)
    lines = []
    for event in events:
        offset = event["offset"]
        if event["event"] == "alloc":
            number = unused.pop() if unused else known
            known = max(known, number + 1)
            numbers[offset] = number
            lines.append(f"a {number} {event['bytes']}")
        elif event["event"] == "free":
            if offset not in numbers:
                raise ValueError(
                    f"The trace frees a block at {offset} that is not in use. "
                    "Something else allocated between the list of blocks and "
                    "the beginning of the trace; record it again."
                )
            unused.append(numbers.pop(offset))
            lines.append(f"f {unused[-1]}")
    sizes = [str(size) for _, size in resident]
    text = [
        "sn_tf_arena_trace 1",
        f"budgeted {int(budgeted)}",
        *(f"resident {len(sizes)}", *sizes),
        *(f"events {len(lines)}", *lines),
    ]
    return "\n".join([*text, ""])


def run(options):
    """Trains as `options` say and writes the trace of the measured steps.

    Returns:
        A dictionary: what ran, the number of events, and of the traced steps
        the peak, the fragmentation, and the bytes swapped out a step.
    """
    import sn_tf  # Before TensorFlow allocates anything.
    from models import arguments

    arguments.configure_threads(options)
    from benchmarks import (
        WARM_UP_STEPS,
        devices,
        loops,
        modes,
        result,
        workload,
    )
    from sn_tf import _library

    library = _library.library()
    device = devices.name_of(options)
    with devices.scope(options), modes.context(options):
        model = workload.make_model(options)
        batches = workload.make_batches(options)
        loops.train_steps(model, batches, WARM_UP_STEPS)
        sn_tf.reset_peak(device)
        before = sn_tf.stats(device)
        resident = library.blocks(device)
        library.start_trace(device)
        loops.train_steps(model, batches, options.steps)
        events = library.stop_trace(device)
        after = sn_tf.stats(device)
    options.trace.write_text(
        encode(resident, events, budgeted=options.budget is not None)
    )
    swapped = after.swapped_out_bytes - before.swapped_out_bytes
    return result.describe(options) | {
        "trace": str(options.trace),
        "events": len(events),
        "resident_blocks": len(resident),
        "peak_bytes": after.peak_bytes,
        "fragmentation": after.high_water_bytes / after.peak_bytes,
        "swapped_out_bytes_per_step": swapped / options.steps,
    }


def main(argv=None):
    """Entry point of `python -m benchmarks.arena_record`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from benchmarks import arguments, output

    parser = arguments.make_parser("benchmarks.arena_record", __doc__)
    parser.set_defaults(steps=2)
    parser.add_argument(
        "--trace", type=Path, required=True, help="file to write"
    )
    parser.add_argument(
        "--json", action="store_true", help="print a JSON object"
    )
    options = parser.parse_args(argv)
    arguments.check(parser, options)
    output.print_found(run(options), as_json=options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
