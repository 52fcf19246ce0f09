# SPDX-License-Identifier: Apache-2.0
"""Command line arguments that describe what is trained."""

import models
from models import recipe


def add_model_arguments(parser, *, batch):
    """Adds the arguments that choose a network and its training.

    Args:
        parser: An `argparse.ArgumentParser`.
        batch: Default batch size.
    """
    group = parser.add_argument_group("what is trained")
    group.add_argument(
        "--model", required=True, choices=models.NAMES, help="network to train"
    )
    group.add_argument(
        "--batch", type=int, default=batch, help="batch size (%(default)s)"
    )
    group.add_argument(
        "--image",
        type=int,
        help="side of the square images (the network's own default)",
    )
    group.add_argument(
        "--classes",
        type=int,
        help="outputs of a classifier (the network's own default)",
    )
    group.add_argument(
        "--depth", type=int, help="depth, for networks that have one"
    )
    group.add_argument(
        "--optimizer",
        choices=recipe.OPTIMIZERS,
        default="sgd",
        help="(%(default)s)",
    )
    group.add_argument("--learning-rate", type=float, help="(by optimizer)")
    group.add_argument(
        "--seed",
        type=int,
        default=0,
        help="of weights, data and order (%(default)s)",
    )


def add_thread_arguments(parser):
    """Adds the arguments that size TensorFlow's thread pools."""
    group = parser.add_argument_group("threads")
    group.add_argument(
        "--intra",
        type=int,
        default=0,
        help="intra-op threads (TensorFlow's choice)",
    )
    group.add_argument(
        "--inter",
        type=int,
        default=0,
        help="inter-op threads (TensorFlow's choice)",
    )


def configure_threads(options):
    """Applies `add_thread_arguments`. Call before TensorFlow runs an op."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(options.intra)
    tf.config.threading.set_inter_op_parallelism_threads(options.inter)


def build_model(options):
    """Builds the network that the parsed `options` describe."""
    depth = {} if options.depth is None else {"depth": options.depth}
    return models.build(
        options.model, image=options.image, classes=options.classes, **depth
    )
