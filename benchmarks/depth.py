# SPDX-License-Identifier: Apache-2.0
"""How deep a ResNet may be in a budget, and a step of a very deep one.

search  The deepest pre-activation bottleneck ResNet of the CIFAR kind (depth
        9n + 2) that trains in the budget: in stock TensorFlow inside it, and in
        sn_tf. Each n is a training in a process of its own; n doubles until one
        has no room, and what is between is halved. The order in which stock
        TensorFlow runs ops varies, and what it needs with it: a depth counts as
        trained if one of several tries is.
        sn_tf begins at the depth that the target asks for. Where that trains,
        the ratio is at least the target, and the search ends; --deepest goes
        on, at some minutes for each depth.
step    Trains sn_tf with a given number of convolutions in the same budget.

Steps are counted as in benchmarks.train_step: a trial trains six by default,
and its step time is of the last. Building the model and its graph takes most of
a deep trial.

Targets: sn_tf trains ten times as deep (the paper, over TensorFlow: 3.24); the
given number of convolutions trains; no peak passes the budget.

Exit status: 0, or 1 when a target is missed, or when a trial ended otherwise
than by training or for lack of memory.
"""

import json
import sys
import time

from benchmarks import arguments, child, doubling, markdown, output

PARTS = ("search", "step")
_STOCK, _SN = "stock-limited", "sn"
_TITLES = {_STOCK: "stock TensorFlow", _SN: "sn_tf"}
_PAPER_RATIO = 3.24
# Three stages of n blocks of three convolutions; beside them stand the first
# convolution and a projection for each stage.
_DEPTH_OF_BLOCK = 9
_OTHER_LAYERS = 2
_OTHER_CONVOLUTIONS = 4


def parse(argv=None):
    """Returns the parsed command line."""
    parser = arguments.command_parser("benchmarks.depth", __doc__)
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=PARTS, help="(all)"
    )
    parser.add_argument("--budget", default="1GB", help="(%(default)s)")
    parser.add_argument("--batch", type=int, default=64, help="(%(default)s)")
    parser.add_argument("--image", type=int, default=32, help="(%(default)s)")
    parser.add_argument("--tiers", help="memory tiers of sn_tf (auto)")
    parser.add_argument(
        "--target", type=float, default=10, help="ratio (%(default)s)"
    )
    parser.add_argument(
        "--deepest",
        action="store_true",
        help="go on beyond the target, to the deepest that trains",
    )
    parser.add_argument(
        "--most-depth",
        type=int,
        default=2504,
        help="no deeper network is tried in the search (%(default)s)",
    )
    parser.add_argument(
        "--tries",
        type=int,
        default=3,
        help="of stock TensorFlow, until one trains (%(default)s)",
    )
    parser.add_argument(
        "--convolutions",
        type=int,
        default=2500,
        help="at least so many in the part step (%(default)s)",
    )
    arguments.add_comparison_arguments(parser, steps=1)
    options = parser.parse_args(argv)
    for name, least in (("most_depth", depth_of(1)), ("tries", 1)):
        given = getattr(options, name)
        if given < least:
            flag = name.replace("_", "-")
            parser.error(
                f"--{flag} must be at least {least}. Received: {given}"
            )
    return options


# ---- Networks ---------------------------------------------------------------


def depth_of(n):
    """Depth of the network with n blocks in each stage."""
    return _DEPTH_OF_BLOCK * n + _OTHER_LAYERS


def convolutions_of(n):
    """Convolutions of the network with n blocks in each stage."""
    return _DEPTH_OF_BLOCK * n + _OTHER_CONVOLUTIONS


def blocks_for(count, others):
    """The smallest n, at least 1, with 9n + `others` not below `count`."""
    return max(1, int(-(-(count - others) // _DEPTH_OF_BLOCK)))


# ---- Trials -----------------------------------------------------------------


def _train(options, mode, n):
    """The result of one training; see `benchmarks.train_step`."""
    planned = arguments.tiers(options, options.tiers) if options.tiers else []
    return child.train_step(
        *("--model", "resnet", "--depth", depth_of(n)),
        *("--batch", options.batch, "--image", options.image),
        *("--mode", mode, "--budget", options.budget),
        *("--steps", options.steps, *(planned if mode == _SN else [])),
    )


def _lacks_memory(one):
    """Whether a training failed because memory did not suffice.

    Raises:
        RuntimeError: If it failed for another reason.
    """
    if one.get("error") in ("ResourceExhausted", "InfeasibleBudget"):
        return True
    child.unless_failed(one)
    return False


def _outcome(one, tries):
    """How a training ended, for people."""
    times = f", {tries} tries" if tries > 1 else ""
    if "error" not in one:
        return f"trained{times}"
    if one["error"] == "InfeasibleBudget":
        return f"no plan below {markdown.megabytes(one['min_budget_bytes'])}"
    return f"out of memory{times}"


def run_trial(options, mode, n):
    """Trains one depth.

    Args:
        options: As of `parse`.
        mode: Mode of `benchmarks.train_step`.
        n: Blocks of a stage.

    Returns:
        What came of it; "fits" tells whether it trained.

    Raises:
        RuntimeError: If it failed for another reason than memory.
    """
    title = f"{_TITLES[mode]}, depth {depth_of(n)}"
    begin = time.monotonic()
    for tries in range(1, 1 + (options.tries if mode == _STOCK else 1)):
        output.progress(f"{title}, try {tries}" if tries > 1 else title)
        one = _train(options, mode, n)
        fits = not _lacks_memory(one)
        if fits:
            break
    line = {
        "mode": mode,
        "depth": depth_of(n),
        "convolutions": convolutions_of(n),
        "fits": fits,
        "outcome": _outcome(one, tries),
        "budget_bytes": one["budget_bytes"],
        "trial_s": time.monotonic() - begin,
    } | {
        name: one.get(name)
        for name in ("layers", "peak_bytes", "step_time_s", "ops")
        + ("plan_time_s", "swapped_out_bytes_per_step", "recomputed_ops")
    }
    output.progress(f"{title}: {line['outcome']}, {line['trial_s']:.0f} s")
    return line


# ---- The parts --------------------------------------------------------------


def search(options, mode, *, first=1, enough=None):
    """Searches the deepest network that trains in one mode.

    Args:
        options: As of `parse`.
        mode: Mode of `benchmarks.train_step`.
        first: Blocks of a stage to begin with.
        enough: Blocks of a stage at which the search may end.

    Returns:
        A dictionary: the depth that was found (0: none), whether it is the
        deepest, the trials, and what went wrong.
    """
    trials = []

    def passes(n):
        trials.append(run_trial(options, mode, n))
        return trials[-1]["fits"]

    most = (options.most_depth - _OTHER_LAYERS) // _DEPTH_OF_BLOCK
    faults = []
    is_deepest = False
    try:
        found = doubling.largest(passes, first=first, most=most, enough=enough)
        is_deepest = found.is_largest
    except RuntimeError as error:
        faults.append(f"{_TITLES[mode]}: {error}")
    fitting = [one["depth"] for one in trials if one["fits"]]
    return {
        "depth": max(fitting, default=0),
        "is_deepest": is_deepest,
        "trials": trials,
        "faults": faults,
    }


def run_search(options):
    """Searches in both modes; returns what was found."""
    stock = search(options, _STOCK)
    wanted = blocks_for(options.target * stock["depth"], _OTHER_LAYERS)
    ends = stock["depth"] > 0 and not options.deepest
    sn = search(options, _SN, first=wanted, enough=wanted if ends else None)
    found = {
        "stock_depth": stock["depth"],
        "stock_is_deepest": stock["is_deepest"],
        "sn_depth": sn["depth"],
        "sn_is_deepest": sn["is_deepest"],
        "ratio": sn["depth"] / stock["depth"] if stock["depth"] else None,
        "target": options.target,
        "trials": stock["trials"] + sn["trials"],
    }
    return found | {"faults": stock["faults"] + sn["faults"] + faults(found)}


def faults(found):
    """The targets that a search misses; see the module."""
    missed = []
    if found["ratio"] is None:
        missed.append("stock TensorFlow trains at no depth: raise the budget")
    elif found["ratio"] < found["target"]:
        missed.append(f"ratio below {found['target']:g}")
    if not found["stock_is_deepest"]:
        missed.append("stock TensorFlow may train deeper: raise --most-depth")
    return missed + _above_budget(found["trials"])


def _above_budget(trials):
    return [
        f"{_TITLES[one['mode']]}, depth {one['depth']}: peak above the budget"
        for one in trials
        if one["fits"] and one["peak_bytes"] > one["budget_bytes"]
    ]


def run_step(options):
    """Trains sn_tf with many convolutions; returns what came of it."""
    n = blocks_for(options.convolutions, _OTHER_CONVOLUTIONS)
    try:
        one = run_trial(options, _SN, n)
    except RuntimeError as error:
        return {"trials": [], "faults": [f"{_TITLES[_SN]}: {error}"]}
    missed = _above_budget([one])
    if not one["fits"]:
        missed.append(f"{one['convolutions']} convolutions: {one['outcome']}")
    return {"trials": [one], "faults": missed}


# ---- What came of it --------------------------------------------------------


def table(trials):
    """The trials as a markdown table."""
    head = [
        *("training", "depth", "convolutions", "layers", "outcome", "peak"),
        *("step time", "ops", "planning time", "whole trial"),
    ]
    rows = [
        [
            _TITLES[one["mode"]],
            one["depth"],
            one["convolutions"],
            _or_dash(one["layers"]),
            one["outcome"],
            markdown.megabytes(one["peak_bytes"]),
            _or_dash(one["step_time_s"], "{:.2f} s"),
            _or_dash(one["ops"]),
            _or_dash(one["plan_time_s"] if one["ops"] else None, "{:.2f} s"),
            f"{one['trial_s']:.0f} s",
        ]
        for one in trials
    ]
    return markdown.table(head, rows)


def _or_dash(value, form="{}"):
    return "-" if value is None else form.format(value)


def _verdict(found):
    """Both depths and their ratio, for people."""

    def told(number, *, exact):
        return f"{number}" if exact else f"at least {number}"

    stock = told(found["stock_depth"], exact=found["stock_is_deepest"])
    sn = told(found["sn_depth"], exact=found["sn_is_deepest"])
    lines = [f"stock TensorFlow: depth {stock}", f"sn_tf: depth {sn}"]
    if found["ratio"] is not None:
        exact = found["sn_is_deepest"]
        ratio = told(f"{found['ratio']:.2f}", exact=exact)
        lines.append(
            f"ratio: {ratio} (target {found['target']:g}, the paper "
            f"{_PAPER_RATIO})"
        )
    return "\n".join(lines)


def report(options, parts):
    """All that was found, for people."""
    sections = [
        f"resnet, batch {options.batch}, {options.image}x{options.image}, "
        f"budget {options.budget}, tiers {options.tiers or 'auto'}"
    ]
    for part, found in parts.items():
        sections.append(table(found["trials"]))
        if part == "search":
            sections.append(_verdict(found))
        sections += [f"MISSED: {fault}" for fault in found["faults"]]
    return "\n\n".join(sections)


_RUN = {"search": run_search, "step": run_step}


def main(argv=None):
    """Entry point of `python -m benchmarks.depth`."""
    options = parse(argv)
    parts = {
        part: _RUN[part](options) for part in PARTS if part in options.only
    }
    print(json.dumps(parts) if options.json else report(options, parts))
    return 1 if any(found["faults"] for found in parts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
