# SPDX-License-Identifier: Apache-2.0
"""Trains ResNet-50 where stock TensorFlow runs out of memory.

Three trainings on handwritten digits, each in its own process: stock
TensorFlow inside the budget, which fails; sn_tf inside the same budget; and
stock TensorFlow without a limit, to compare with.

Exit status: 0, or 1 when one of the three did not go as said.
"""

import json
import statistics
import sys
from pathlib import Path

from benchmarks import arguments, child, readme

# All of the digits: no batch is seen twice in the steps of the demo.
_BATCHES = 44


def parse(argv=None):
    """Returns the parsed command line."""
    parser = arguments.command_parser("benchmarks.demo", __doc__)
    parser.add_argument("--model", default="resnet50", help="(%(default)s)")
    parser.add_argument("--budget", default="300MB", help="(%(default)s)")
    parser.add_argument("--steps", type=int, default=30, help="(%(default)s)")
    parser.add_argument("--batch", type=int, default=32, help="(%(default)s)")
    parser.add_argument("--image", type=int, default=112, help="(%(default)s)")
    parser.add_argument(
        "--output",
        type=Path,
        default=child.ROOT / "results" / "demo.json",
        help="where the measurements go (%(default)s)",
    )
    parser.add_argument(
        "--update-readme",
        action="store_true",
        help="write the table into README.md",
    )
    return parser.parse_args(argv)


def _train(options, mode, *arguments):
    return child.train_step(
        *("--model", options.model, "--mode", mode, *arguments),
        *("--batch", options.batch, "--image", options.image),
        *("--classes", 10, "--steps", options.steps, "--batches", _BATCHES),
    )


def run(options):
    """Runs the three trainings and returns their results by mode."""
    where = f"{options.model}, batch {options.batch}, "
    where += f"{options.image}x{options.image}"
    results = {}

    print(f"\n(a) Stock TensorFlow inside {options.budget}: {where}")
    limit = ("--budget", options.budget)
    results["stock-limited"] = one = _train(options, "stock-limited", *limit)
    print(f"    {one['message'] if 'error' in one else 'it fits'}")

    print(f"\n(b) sn_tf inside {options.budget}: the same training")
    results["sn"] = _train(options, "sn", *limit)

    print("\n(c) Stock TensorFlow without a limit")
    results["stock"] = _train(options, "stock")
    return results


def loss_fell(losses):
    """Whether the last steps are better than the first; batches differ."""
    few = max(1, min(5, len(losses) // 2))
    return statistics.mean(losses[-few:]) < statistics.mean(losses[:few])


def faults(results):
    """What did not go as the demo says; an empty list if all did."""
    found = []
    if "error" not in results["stock-limited"]:
        found.append("stock TensorFlow fits in the budget: choose a smaller")
    for mode in ("sn", "stock"):
        one = results[mode]
        if "error" in one:
            found.append(f"{mode}: {one['error']}: {one['message']}")
        elif not loss_fell(one["loss"]):
            found.append(f"{mode}: the loss did not fall")
    sn = results["sn"]
    if "error" not in sn and sn["peak_bytes"] > sn["budget_bytes"]:
        found.append("sn: the peak is above the budget")
    return found


def main(argv=None):
    """Entry point of `python -m benchmarks.demo`."""
    options = parse(argv)
    sys.stdout.reconfigure(line_buffering=True)
    results = run(options)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(results, indent=1) + "\n")
    print(f"\n{readme.table(results)}\n")
    problems = faults(results)
    for problem in problems:
        print(problem)
    if options.update_readme and not problems:
        readme.update(child.ROOT / "README.md", readme.section(results))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
