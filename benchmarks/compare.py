# SPDX-License-Identifier: Apache-2.0
"""Compares two measurements that train in turn, a step of A, a step of B.

Example: `python -m benchmarks.compare --model resnet50 --mode sn --budget
300MB -- --model resnet50 --mode stock --rounds 3`

Each side is a command line of `benchmarks.train_step`, and runs in its own
process. Taking turns step by step lets a machine that speeds up or slows down
meet both sides alike. The ratio of the step times is the median of those of
steps that followed one another; the range over the rounds shows what is left.
"""

import itertools
import json
import statistics
import sys

from benchmarks import WARM_UP_STEPS, arguments, turns


def parse(argv):
    """Splits the command line.

    Returns:
        The command line of A, that of B, and the options of this program,
        which may stand on either side.
    """
    parser = arguments.command_parser(
        "benchmarks.compare",
        __doc__,
        usage="%(prog)s A... -- B... [--rounds N] [--json]",
    )
    parser.add_argument("--rounds", type=int, default=3, help="(%(default)s)")
    parser.add_argument(
        "--json", action="store_true", help="print a JSON object"
    )
    argv = list(argv)
    at = argv.index("--") if "--" in argv else len(argv)
    options, a = parser.parse_known_args(argv[:at])
    options, b = parser.parse_known_args(argv[at + 1 :], options)
    if not a or not b:
        parser.error("two command lines of benchmarks.train_step are needed")
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1. Received: {options.rounds}")
    return a, b, options


def measure(a, b, rounds):
    """Runs A and B in turn and returns their results, a list each."""
    results = ([], [])
    for turn in range(rounds):
        pair = turns.train_in_turn(a, b)
        for name, one, found in zip("AB", pair, results, strict=True):
            if "error" in one:
                raise RuntimeError(
                    f"{name} failed with {one['error']}: {one['message']}"
                )
            found.append(one)
            print(
                f"round {turn + 1} {name}: step {one['step_time_s']:.3f} s, "
                f"peak {one['peak_bytes'] / 1e6:.1f} MB",
                file=sys.stderr,
                flush=True,
            )
    return results


def _step_ratios(a, b):
    """A / B of each two steps in turn, without those of the warm-up."""
    times_a, times_b = (one["step_times_s"][WARM_UP_STEPS:] for one in (a, b))
    # One side may have been asked for fewer steps.
    return [x / y for x, y in zip(times_a, times_b, strict=False)]


def _peak_ratios(a, b):
    return [a["peak_bytes"] / b["peak_bytes"]]


def compare(a, b):
    """Compares two lists of results, A against B.

    Returns:
        A dictionary: per quantity the values of each side, the median of the
        ratios, and the least and greatest median of a round.
    """
    found = {"rounds": len(a)}
    for name, ratios_of in (
        ("step_time_s", _step_ratios),
        ("peak_bytes", _peak_ratios),
    ):
        rounds = [ratios_of(x, y) for x, y in zip(a, b, strict=True)]
        medians = [statistics.median(ratios) for ratios in rounds]
        found[name] = {
            "a": [one[name] for one in a],
            "b": [one[name] for one in b],
            "ratio": statistics.median(itertools.chain(*rounds)),
            "ratio_min": min(medians),
            "ratio_max": max(medians),
        }
    hashes = {one["weights_sha256"] for one in [*a, *b]}
    found["same_weights"] = len(hashes) == 1
    return found


def summary(found):
    """A comparison for people."""
    lines = []
    for name, label, scale, unit in (
        ("step_time_s", "step time", 1, "s"),
        ("peak_bytes", "peak", 1e-6, "MB"),
    ):
        one = found[name]
        lines.append(f"{label}:")
        for side in "ab":
            values = "  ".join(f"{scale * value:.3f}" for value in one[side])
            lines.append(f"  {side.upper()}  {values}  {unit}")
        lines.append(
            f"  A / B  {one['ratio']:.3f}  (rounds: {one['ratio_min']:.3f} "
            f"to {one['ratio_max']:.3f})"
        )
    same = "yes" if found["same_weights"] else "no"
    lines.append(f"same weights in all runs: {same}")
    return "\n".join(lines)


def main(argv=None):
    """Entry point of `python -m benchmarks.compare`."""
    a, b, options = parse(sys.argv[1:] if argv is None else argv)
    found = compare(*measure(a, b, options.rounds))
    print(json.dumps(found) if options.json else summary(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
