# SPDX-License-Identifier: Apache-2.0
"""Trains for many steps and checks that nothing stays behind.

After each step what the arena has in use must be back at the same value, and
the host tier must be empty.

Exit status: 0, or 1 when something stayed behind.
"""

import json
import os
import sys
from pathlib import Path


def _rss_bytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def run(options):
    """Trains as `options` say.

    Returns:
        A dictionary: what was in use after each counted step, as the list of
        different values; the most that the host tier held between steps; and
        the resident set size after the first and the last counted step.
    """
    import sn_tf  # Before TensorFlow allocates anything.
    from models import arguments

    arguments.configure_threads(options)
    from benchmarks import WARM_UP_STEPS, loops, modes, result, workload

    seen, rss = [], []

    def after_step():
        seen.append(sn_tf.stats())
        rss.append(_rss_bytes())

    with modes.context(options):
        model = workload.make_model(options)
        batches = workload.make_batches(options)
        training = loops.train_steps(
            model, batches, WARM_UP_STEPS + options.steps, after_step
        )
    counted = seen[WARM_UP_STEPS:]
    return result.describe(options) | {
        "steps": options.steps,
        "in_use_bytes": sorted({stats.in_use_bytes for stats in counted}),
        "host_tier_in_use_bytes": max(
            stats.host_tier_in_use_bytes for stats in counted
        ),
        "swapped_out_bytes_per_step": (
            counted[-1].swapped_out_bytes - seen[0].swapped_out_bytes
        )
        / (len(seen) - 1),
        "peak_bytes": seen[-1].peak_bytes,
        "rss_first_bytes": rss[WARM_UP_STEPS],
        "rss_last_bytes": rss[-1],
        "loss_first": training.losses[0],
        "loss_last": training.losses[-1],
    }


def faults(found):
    """What stayed behind; an empty list if nothing did."""
    problems = []
    if len(found["in_use_bytes"]) != 1:
        values = found["in_use_bytes"]
        problems.append(
            f"in use after a step: {len(values)} different values, "
            f"{values[0]} to {values[-1]} bytes"
        )
    if found["host_tier_in_use_bytes"]:
        problems.append(
            "the host tier held up to "
            f"{found['host_tier_in_use_bytes']} bytes between steps"
        )
    return problems


def main(argv=None):
    """Entry point of `python -m benchmarks.long_run`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from benchmarks import arguments

    parser = arguments.make_parser("benchmarks.long_run", __doc__)
    parser.set_defaults(steps=200)
    parser.add_argument(
        "--json", action="store_true", help="print a JSON object"
    )
    options = parser.parse_args(argv)
    arguments.check(parser, options)
    found = run(options)
    found["faults"] = faults(found)
    if options.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name}: {value}")
        print("nothing stayed behind" if not found["faults"] else "FAILED")
    return 1 if found["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
