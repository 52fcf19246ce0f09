# SPDX-License-Identifier: Apache-2.0
"""Replays recorded allocations with the arena, with BFC and with malloc.

Each network is trained for a few steps, without a budget and in one in which
its plan swaps, and what the last steps allocate is recorded. A C++ program then
replays that with sn_tf's arena, with tsl::BFCAllocator as TensorFlow's GPU
device has it, and with posix_memalign, by one thread and by several. Every
measurement is a process of its own, and the allocators take turns.

A line passes if the arena takes at most as long an operation as BFC and as
malloc do (median of the rounds, wall clock, all threads together), and if its
high-water mark is at most 1.05 times its peak. "malloc, kept" is malloc told to
give no memory back to the system: for comparison only.

Exit status: 0, or 1 when a line failed.
"""

import json
import math
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks import arguments, child, markdown, output, replay

# Batch and image.
SIZES = {
    "resnet50": (32, 112),
    "transformer": (32, 112),
    "densenet121": (32, 112),
}
ALLOCATORS = {
    "arena": "arena",
    "bfc": "BFC",
    "malloc": "malloc",
    "kept": "malloc, kept",
}
MOST_FRAGMENTATION = 1.05
_TIMES = ("wall_ns", "thread_ns", "processor_ns")


def parse(argv=None):
    """Returns the parsed command line."""
    parser = arguments.command_parser("benchmarks.arena", __doc__)
    parser.add_argument(
        "--models", nargs="+", choices=SIZES, default=list(SIZES)
    )
    parser.add_argument("--batch", type=int, help="(by network)")
    parser.add_argument("--image", type=int, help="(by network)")
    parser.add_argument(
        "--budget-share",
        type=float,
        default=0.35,
        help="of the stock peak, for the steps that swap (%(default)s)",
    )
    parser.add_argument(
        "--steps", type=int, default=2, help="recorded steps (%(default)s)"
    )
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[1, 2, 8], help="(1 2 8)"
    )
    parser.add_argument("--rounds", type=int, default=9, help="(%(default)s)")
    parser.add_argument(
        "--save", type=Path, help="folder to keep the traces in"
    )
    parser.add_argument(
        "--traces",
        type=Path,
        nargs="+",
        help="replay these, and record nothing",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    for name in ("rounds", "steps"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1")
    if min(options.threads) < 1:
        parser.error("--threads must be at least 1 each")
    return options


def record(options, folder):
    """Records the traces of `options` into `folder`.

    Returns:
        A dictionary from path to what `arena_record` says of that trace.
    """
    recorded = {}

    def run(model, name, *more):
        output.progress(f"recording {name}")
        batch, image = SIZES[model]
        path = folder / f"{name}.trace"
        recorded[path] = child.run(
            "benchmarks.arena_record",
            [
                *("--model", model, "--trace", path, "--steps", options.steps),
                *("--batch", options.batch or batch),
                *("--image", options.image or image),
                *more,
            ],
            quiet=True,
        )
        return recorded[path]

    for model in options.models:
        stock = run(model, model, "--mode", "stock")
        budget = math.ceil(options.budget_share * stock["peak_bytes"])
        # By default recomputation may do without.
        swapping = ("--mode", "sn", "--policy", "swap", "--budget", budget)
        run(model, f"{model}-swapping", *swapping)
    return recorded


def run_line(program, trace, threads, rounds):
    """Replays a trace with every allocator in turn, and returns the line."""
    output.progress(f"replaying {trace.stem}, {threads} threads")
    measured = {allocator: [] for allocator in ALLOCATORS}
    for _ in range(rounds):
        for allocator, results in measured.items():
            one = replay.measure(program, trace, allocator, threads)
            results.append(one)
    line = {
        "trace": trace.stem,
        "threads": threads,
        "operations": measured["arena"][0]["operations"],
        "peak_bytes": measured["arena"][0]["peak_bytes"],
    }
    for allocator, results in measured.items():
        line[allocator] = {
            name: statistics.median(result[name] for result in results)
            for name in (*_TIMES, "fragmentation")
            if name in results[0]
        }
        line[allocator]["wall_ns_of_rounds"] = [
            result["wall_ns"] for result in results
        ]
    return line | {"faults": faults(line)}


def faults(line):
    """Which targets a line misses; an empty list if none."""
    found = []
    arena = line["arena"]
    for other in ("bfc", "malloc"):
        slower = arena["wall_ns"] / line[other]["wall_ns"]
        if slower > 1:
            found.append(f"{slower:.2f} times {ALLOCATORS[other]}'s time")
    if arena["fragmentation"] > MOST_FRAGMENTATION:
        found.append(f"fragmentation above {MOST_FRAGMENTATION}")
    return found


def table(lines):
    """The lines as a markdown table: wall clock and fragmentation."""
    head = [
        *("trace", "threads"),
        *(f"{label} ns" for label in ALLOCATORS.values()),
        *("arena / BFC", "arena / malloc"),
        *("arena fragmentation", "BFC fragmentation", "result"),
    ]
    rows = []
    for line in lines:
        wall = {name: line[name]["wall_ns"] for name in ALLOCATORS}
        rows.append(
            [
                *(line["trace"], line["threads"]),
                *(f"{ns:.1f}" for ns in wall.values()),
                *(f"{wall['arena'] / wall[x]:.2f}" for x in ("bfc", "malloc")),
                *(f"{line[x]['fragmentation']:.3f}" for x in ("arena", "bfc")),
                "; ".join(line["faults"]) or "passes",
            ]
        )
    return markdown.table(head, rows)


def other_times(lines):
    """The same measurements by the clocks of threads and processors."""
    labels = ALLOCATORS.values()
    head = [
        *("trace", "threads"),
        *(f"{label}, thread ns" for label in labels),
        *(f"{label}, processor ns" for label in labels),
    ]
    rows = []
    for line in lines:
        rows.append(
            [
                *(line["trace"], line["threads"]),
                *(f"{line[x]['thread_ns']:.1f}" for x in ALLOCATORS),
                *(f"{line[x]['processor_ns']:.1f}" for x in ALLOCATORS),
            ]
        )
    return markdown.table(head, rows)


def recordings(recorded):
    """What was recorded, as a markdown table."""
    head = [
        *("trace", "events", "blocks at the beginning", "budget", "peak"),
        *("swapped out a step", "fragmentation in the training"),
    ]
    rows = []
    for path, one in recorded.items():
        budget = one["budget_bytes"]
        rows.append(
            [
                *(path.stem, one["events"], one["resident_blocks"]),
                f"{budget / 1e6:.1f} MB" if budget else "none",
                f"{one['peak_bytes'] / 1e6:.1f} MB",
                f"{one['swapped_out_bytes_per_step'] / 1e6:.1f} MB",
                f"{one['fragmentation']:.3f}",
            ]
        )
    return markdown.table(head, rows)


def _compare(options, folder):
    program = replay.build()
    recorded = {} if options.traces else record(options, folder)
    lines = [
        run_line(program, trace, threads, options.rounds)
        for trace in options.traces or recorded
        for threads in options.threads
    ]
    return recorded, lines


def main(argv=None):
    """Entry point of `python -m benchmarks.arena`."""
    options = parse(argv)
    if options.save is not None:
        options.save.mkdir(parents=True, exist_ok=True)
        recorded, lines = _compare(options, options.save)
    else:
        with tempfile.TemporaryDirectory() as folder:
            recorded, lines = _compare(options, Path(folder))
    if options.json:
        traces = list(recorded.values())
        print(json.dumps({"traces": traces, "lines": lines}))
    else:
        tables = [recordings(recorded)] if recorded else []
        print("\n\n".join([*tables, table(lines), other_times(lines)]))
    return 1 if any(line["faults"] for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
