# SPDX-License-Identifier: Apache-2.0
"""Trains without sn_tf in the process at all, and measures its memory.

What stock TensorFlow takes with its own allocator; `benchmarks.train_step
--mode stock` has sn_tf's arena, to count what is in it.
"""

import os
import statistics
import sys
import time
from pathlib import Path

from benchmarks import WARM_UP_STEPS, output


def process_bytes(field):
    """A size of this process, such as "VmHWM", as Linux tells it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) * 1024
    raise ValueError(
        f"/proc/self/status has no such field. Received: {field!r}."
    )


def run(options):
    """Trains as `options` say.

    Returns:
        A dictionary: losses, times, the peak of the resident set size, and the
        size of private writable memory (what RLIMIT_DATA limits) before the
        first step and after the last.
    """
    from models import arguments

    arguments.configure_threads(options)
    from benchmarks import workload

    model = workload.make_model(options)
    x, y = workload.make_batches(options)[0]
    data_before_bytes = process_bytes("VmData")
    losses, seconds = [], []
    for _ in range(WARM_UP_STEPS + options.steps):
        model.reset_metrics()
        begin = time.perf_counter()
        losses.append(float(model.train_on_batch(x, y)))
        seconds.append(time.perf_counter() - begin)
    if "sn_tf" in sys.modules:
        raise RuntimeError("sn_tf was imported, so this is not stock.")
    return {
        "mode": "plain",
        "loss": losses,
        "step_time_s": statistics.median(seconds[WARM_UP_STEPS:]),
        "rss_peak_bytes": process_bytes("VmHWM"),
        "data_before_bytes": data_before_bytes,
        "data_after_bytes": process_bytes("VmData"),
        "weights_sha256": workload.weights_sha256(model),
    }


def parse(argv=None):
    """Returns the parsed command line."""
    from benchmarks import arguments
    from models import arguments as model_arguments

    parser = arguments.command_parser("benchmarks.plain", __doc__)
    model_arguments.add_model_arguments(parser, batch=32)
    model_arguments.add_thread_arguments(parser)
    parser.add_argument("--steps", type=int, default=5, help="(%(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    options.batches = 1
    return options


def main(argv=None):
    """Entry point of `python -m benchmarks.plain`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    options = parse(argv)
    output.print_found(run(options), as_json=options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
