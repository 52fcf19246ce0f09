# SPDX-License-Identifier: Apache-2.0
"""Command lines: that of `benchmarks.train_step`, and what others share."""

import argparse

import models
from models import arguments

MODES = ("stock", "stock-limited", "order", "sn")


def command_parser(prog, description, *, usage=None):
    """Returns a parser without arguments; the text is shown as it stands."""
    return argparse.ArgumentParser(
        prog=f"python -m {prog}",
        usage=usage,
        description=description,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def copies_parser(prog, description, *, link, rounds):
    """Returns a parser of what `benchmarks.copies` are measured with.

    Args:
        prog: Module of the command.
        description: What the command does.
        link: Default link.
        rounds: Default number of times.
    """
    parser = command_parser(prog, description)
    parser.add_argument("--link", default=link, help="(%(default)s)")
    parser.add_argument("--bytes", default="1GiB", help="(%(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=rounds, help="(%(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def add_device_arguments(parser):
    """Adds the arguments that `benchmarks.devices` reads."""
    parser.add_argument(
        "--device", choices=("cpu", "sim"), default="cpu", help="(%(default)s)"
    )
    parser.add_argument(
        "--memory",
        default="8GB",
        help="memory of the simulated device (%(default)s)",
    )
    parser.add_argument(
        "--link",
        default="unlimited",
        help="link of the simulated device: see sn_tf.sim (%(default)s)",
    )


def add_network_arguments(parser, *, model, image):
    """Adds what describes the network that a comparison trains."""
    parser.add_argument("--model", default=model, help="(%(default)s)")
    parser.add_argument("--depth", type=int, help="of networks that have one")
    parser.add_argument(
        "--image", type=int, default=image, help="(%(default)s)"
    )


def add_comparison_arguments(parser, *, steps):
    """Adds what comparisons of trainings have in common."""
    parser.add_argument("--swap-dir", help="folder of the file tier")
    parser.add_argument(
        "--steps", type=int, default=steps, help="measured steps (%(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def network(options, batch, *, model=None, image=None):
    """The network, for `benchmarks.train_step`.

    Args:
        options: With `depth`; and with `model` and `image` where these are not
            given.
        batch: Samples of a batch.
        model: Name of the network.
        image: Side of its images.
    """
    return [
        *("--model", model or options.model, "--batch", batch),
        *("--image", image or options.image),
        *(["--depth", options.depth] if options.depth else []),
    ]


def tiers(options, names):
    """The tiers `names`, for `benchmarks.train_step`."""
    folder = ["--swap-dir", options.swap_dir] if options.swap_dir else []
    return ["--tiers", names, *folder]


def make_parser(prog, description):
    """Returns a parser of everything that describes one measured training.

    Args:
        prog: Module of the command.
        description: What the command does.
    """
    parser = command_parser(prog, description)
    arguments.add_model_arguments(parser, batch=32)
    arguments.add_thread_arguments(parser)
    group = parser.add_argument_group("how it is measured")
    group.add_argument(
        "--mode", choices=MODES, default="sn", help="(%(default)s)"
    )
    group.add_argument("--budget", help='such as "300MB"')
    group.add_argument("--policy", help="planning policy, in mode sn (auto)")
    group.add_argument("--tiers", help="memory tiers, in mode sn (auto)")
    group.add_argument("--swap-dir", help="folder of the file tier, in mode sn")
    group.add_argument(
        "--cache", help="tensor cache: on or off, in mode sn (on)"
    )
    add_device_arguments(group)
    group.add_argument(
        "--steps",
        type=int,
        default=5,
        help="measured steps, after the warm-up ones (%(default)s)",
    )
    group.add_argument(
        "--batches",
        type=int,
        default=1,
        help="distinct batches that the steps cycle over (%(default)s)",
    )
    group.add_argument(
        "--fit",
        action="store_true",
        help="run model.fit: two epochs, shuffled, with validation data",
    )
    group.add_argument(
        "--samples",
        type=int,
        default=40,
        help="training samples of --fit (%(default)s)",
    )
    return parser


def check(parser, options):
    """Ends the program with a usage error where `options` make no sense."""
    needs_budget = options.mode in ("sn", "stock-limited")
    if needs_budget and options.budget is None:
        parser.error(f"--mode {options.mode} needs a --budget")
    if not needs_budget and options.budget is not None:
        parser.error(
            f"--mode {options.mode} has no limit. Received: --budget "
            f"{options.budget}. Leave it out, or use --mode sn or "
            "--mode stock-limited"
        )
    planning = (options.policy, options.tiers, options.swap_dir, options.cache)
    if options.mode != "sn" and any(planning):
        parser.error(
            "--policy, --tiers, --swap-dir and --cache are for --mode sn only"
        )
    library = models.entry(options.model).library
    if options.fit and library != "keras":
        parser.error(
            "--fit is for networks of Keras 3, as the callbacks that measure "
            f"it are. Received: --model {options.model}, of {library}. Leave "
            "--fit out"
        )
    for name in ("batch", "steps", "batches", "samples"):
        if getattr(options, name) < 1:
            parser.error(
                f"--{name} must be at least 1. Received: "
                f"{getattr(options, name)}"
            )
