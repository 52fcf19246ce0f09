# SPDX-License-Identifier: Apache-2.0
"""Measures which part of a training step its forward pass takes.

Copies out of a step hide behind its forward pass, copies in behind the rest:
what a link must be able to do follows from where the one ends. Forward passes
and whole steps take turns; both in the plan's route, with nothing moved.
"""

import json
import os
import statistics
import sys
import time


def run(options):
    """Measures as `options`, of `benchmarks.arguments.make_parser`, say."""
    import sn_tf  # noqa: F401  Before TensorFlow allocates anything.
    from models import arguments

    arguments.configure_threads(options)
    import tensorflow as tf

    from benchmarks import WARM_UP_STEPS, devices, modes, workload

    devices.configure(options)
    options.mode = "order"
    with devices.scope(options), modes.context(options):
        model = workload.make_model(options)
        x, y = workload.make_batches(options)[0]

        @tf.function
        def forward(x, y):
            return model.compute_loss(x, y, model(x, training=True))

        def timed(call):
            begin = time.perf_counter()
            float(call(x, y))
            return time.perf_counter() - begin

        rounds = [
            (timed(forward), timed(model.train_on_batch))
            for _ in range(WARM_UP_STEPS + options.steps)
        ]
    counted = rounds[WARM_UP_STEPS:]
    return {
        "forward_seconds": [one for one, _ in counted],
        "step_seconds": [one for _, one in counted],
        "forward_share": statistics.median(one / of for one, of in counted),
    }


def main(argv=None):
    """Entry point of `python -m benchmarks.forward`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from benchmarks import arguments

    parser = arguments.make_parser("benchmarks.forward", __doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    found = run(options)
    share = f"forward pass: {found['forward_share']:.3f} of a step"
    print(json.dumps(found) if options.json else share)
    return 0


if __name__ == "__main__":
    sys.exit(main())
