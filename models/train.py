# SPDX-License-Identifier: Apache-2.0
"""Trains a network of this package, inside a memory budget if one is given.

Example: `python -m models.train --model unet --budget 500MB --epochs 1`
"""

import argparse
import os
import sys

import models


def parse(argv=None):
    """Returns the parsed command line."""
    from models import arguments

    parser = argparse.ArgumentParser(
        prog="python -m models.train", description=__doc__.split("\n")[0]
    )
    arguments.add_model_arguments(parser, batch=32)
    arguments.add_thread_arguments(parser)
    parser.add_argument("--epochs", type=int, default=1, help="(%(default)s)")
    parser.add_argument(
        "--samples", type=int, help="train on the first so many samples (all)"
    )
    parser.add_argument(
        "--budget", help='most memory, such as "500MB" (none: stock TensorFlow)'
    )
    parser.add_argument(
        "--policy", default="auto", help="planning policy (%(default)s)"
    )
    parser.add_argument(
        "--tiers",
        default="auto",
        help="where tensors may be moved (%(default)s)",
    )
    options = parser.parse_args(argv)
    if options.classes is None:
        options.classes = (
            10  # The digits' own number, also for ImageNet's networks.
        )
    return options


def train(options, callbacks=()):
    """Trains as `options` say and returns Keras' `History`."""
    from models import arguments, batches, data, recipe

    models.library(options.model).utils.set_random_seed(options.seed)
    model = arguments.build_model(options)
    recipe.compile_model(
        model,
        options.model,
        options.optimizer,
        learning_rate=options.learning_rate,
    )
    training = data.source_for(
        options.model, options.image, "train", options.seed
    )
    validation = data.source_for(
        options.model, options.image, "validation", options.seed
    )
    held_out = (
        None
        if options.samples is None
        else min(options.samples, len(validation))
    )
    return model.fit(
        batches.dataset(
            *(options.model, training, options.batch, options.samples),
            seed=options.seed,
        ),
        validation_data=batches.dataset(
            options.model, validation, options.batch, held_out
        ),
        epochs=options.epochs,
        shuffle=False,  # Batches shuffles, by the seed.
        callbacks=list(callbacks),
    )


def main(argv=None):
    """Entry point of `python -m models.train`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    options = parse(argv)
    from models import arguments

    if options.budget is None:
        arguments.configure_threads(options)
        train(options)
        return 0
    import sn_tf  # Before TensorFlow allocates anything.

    arguments.configure_threads(options)
    planning = {
        "budget": options.budget,
        "policy": options.policy,
        "tiers": options.tiers,
    }
    if models.entry(options.model).library == "keras":
        train(options, [sn_tf.MemoryBudget(**planning)])
    else:
        # tf_keras has callbacks of its own.
        with sn_tf.scope(**planning):
            train(options)
    for report in sn_tf.report():
        print(report.to_markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
