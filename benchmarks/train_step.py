# SPDX-License-Identifier: Apache-2.0
"""Measures the training step of one model in one mode.

The whole training, model and data included, runs inside the mode's limit.
`peak_bytes` is the most that was in use during the steps: it restarts after
the model and the data were made. Losses are of every step; the step time is
the median of those after the warm-up, during which functions are traced and
planned, and `step_peak_bytes` the peak of those.

Exit status: 0, or 3 when memory was exhausted, or 4 when no plan fits in the
budget.
"""

import argparse
import contextlib
import json
import os
import sys

EXHAUSTED = 3
INFEASIBLE = 4


def _train(options):
    """Returns (model, Training, statistics: before, and after each step)."""
    import sn_tf
    from benchmarks import (
        WARM_UP_STEPS,
        devices,
        loops,
        modes,
        output,
        workload,
    )

    device = devices.name_of(options)
    if options.fit:
        with devices.scope(options):
            model = workload.make_model(options)
            sn_tf.reset_peak(device)
            before = sn_tf.stats(device)
            training = loops.fit(model, options)
        return model, training, [before, sn_tf.stats(device)]
    with devices.scope(options), modes.context(options):
        model = workload.make_model(options)
        output.progress(f"{len(model.layers)} layers; the first step is traced")
        batches = workload.make_batches(options)
        sn_tf.reset_peak(device)
        seen = [sn_tf.stats(device)]

        def after_step():
            seen.append(sn_tf.stats(device))
            if len(seen) == WARM_UP_STEPS + 1:
                sn_tf.reset_peak(device)

        training = loops.train_steps(
            model,
            batches,
            WARM_UP_STEPS + options.steps,
            after_step,
            step_context=lambda: _step_context(options),
        )
        return model, training, seen


@contextlib.contextmanager
def _step_context(options):
    from benchmarks import modes, turns

    waiting = turns.turn() if options.turns else contextlib.nullcontext()
    with waiting, modes.step_context(options):
        yield


def run(options):
    """Runs the measurement.

    Args:
        options: As parsed by `benchmarks.arguments`.

    Returns:
        The result, a dictionary for JSON, and the exit status.
    """
    import sn_tf  # Before TensorFlow allocates anything.
    from models import arguments

    arguments.configure_threads(options)
    import tensorflow as tf

    from benchmarks import devices, result

    devices.configure(options)
    found = result.describe(options)
    try:
        found |= result.measured(*_train(options))
    except sn_tf.InfeasibleBudgetError as error:
        return found | _failure("InfeasibleBudget", str(error)), INFEASIBLE
    except tf.errors.ResourceExhaustedError as error:
        message = result.headline(error)
        return found | _failure("ResourceExhausted", message), EXHAUSTED
    return found, 0


def _failure(error, message):
    from benchmarks import result

    return result.planned() | {
        "error": error,
        "message": message,
        "rss_peak_bytes": result.rss_peak_bytes(),
    }


def main(argv=None):
    """Entry point of `python -m benchmarks.train_step`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from benchmarks import arguments

    parser = arguments.make_parser("benchmarks.train_step", __doc__)
    parser.add_argument(
        "--json", action="store_true", help="print a JSON object"
    )
    # For benchmarks.turns.
    parser.add_argument("--turns", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    arguments.check(parser, options)
    found, status = run(options)
    print(json.dumps(found) if options.json else _summary(found, options))
    return status


def _summary(found, options):
    """The result for people; of memory that ran out, all that is told."""
    import sn_tf
    from benchmarks import devices, result

    told = None
    if found.get("error") == "ResourceExhausted":
        told = sn_tf.last_oom(devices.name_of(options))
    return told or result.summary(found)


if __name__ == "__main__":
    sys.exit(main())
