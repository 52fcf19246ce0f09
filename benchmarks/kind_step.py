# SPDX-License-Identifier: Apache-2.0
"""Measures one kind of training in one mode: a process of benchmarks.kinds.

Peaks are of all steps, the first among them; the budget is over the memory that
is in use before them.
"""

import argparse
import contextlib
import json
import os
import sys
import time


def parse(argv=None):
    """Returns the parsed command line."""
    from benchmarks import arguments

    parser = arguments.command_parser("benchmarks.kind_step", __doc__)
    parser.add_argument("kind")
    parser.add_argument("--mode", choices=arguments.MODES, default="order")
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument(
        "--room", type=int, help="bytes that the budget leaves, in mode sn"
    )
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    # For benchmarks.turns.
    parser.add_argument("--turns", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(
        budget=None,
        policy=None,
        tiers=None,
        swap_dir=None,
        cache=None,
        device="cpu",
    )
    return parser.parse_args(argv)


def _train(options, training):
    """Returns the times of the steps, warm-up included."""
    from benchmarks import WARM_UP_STEPS, turns

    seconds = []
    for _ in range(WARM_UP_STEPS + options.steps):
        waiting = turns.turn() if options.turns else contextlib.nullcontext()
        with waiting:
            begin = time.perf_counter()
            training.step()
            seconds.append(time.perf_counter() - begin)
    return seconds


def run(options):
    """Runs the measurement and returns a dictionary for JSON."""
    import sn_tf  # Before TensorFlow allocates anything.
    from benchmarks import kind_trainings, modes, result, workload

    training = kind_trainings.make(options.kind, options.rows)
    before = sn_tf.stats().in_use_bytes
    if options.room is not None:
        options.budget = before + options.room
    sn_tf.reset_peak()
    with modes.context(options):
        seconds = _train(options, training)
        plan = result.training_report()
    return {
        "before_bytes": before,
        "budget_bytes": options.budget,
        "peak_bytes": sn_tf.stats().peak_bytes,
        "step_times_s": seconds,
        "moves": len(plan.actions) if plan else 0,
        "reason": plan.reason if plan else "",
        "weights_sha256": workload.variables_sha256(training.variables),
    }


def main(argv=None):
    """Entry point of `python -m benchmarks.kind_step`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    print(json.dumps(run(parse(argv))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
