# SPDX-License-Identifier: Apache-2.0
"""Measures what docs/results.md says, and writes it there.

For every network, each time in turn with stock TensorFlow, step by step: the
plan's route alone; swaps to host memory and recomputation, as the plan has it,
inside 50% and 35% of stock's peak and inside 1.05 of the floor; recomputation
alone inside 50%, 35%, and the smallest budget in which a step takes at most 1.5
times as long.

Targets: the peak is within the budget, and weights and losses are those of the
route alone, to the last bit; a step takes at most so much of stock's as the
tables say; the planned peak is within 2% of the measured one, and the planned
step time within 15%. A share of stock's peak that is below 1.05 of the floor is
left out.

It takes hours. What is measured is kept after each line, in --folder, and not
measured again, so an interrupted command may be given again.

Exit status: 0, or 1 when a target is missed.
"""

import json
import sys
from pathlib import Path

import models
from benchmarks import (
    arguments,
    child,
    output,
    results_lines,
    results_page,
    turns,
)
from models import recipe

# Batch and image: activations are at least five times the weights, and a step
# takes seconds.
SIZES = {
    "alexnet": (200, 227),
    "vgg16": (64, 112),
    "resnet50": (64, 112),
    "resnet152": (32, 112),
    "inceptionv4": (32, 139),
    "densenet121": (32, 112),
    "unet": (32, 112),
    "transformer512": (16, 128),
}
_OTHER_BATCH = 32


def parse(argv=None):
    """Returns the parsed command line."""
    parser = arguments.command_parser("benchmarks.results", __doc__)
    parser.add_argument(
        "--models",
        nargs="+",
        choices=models.NAMES,
        default=list(SIZES),
        help=f"({' '.join(SIZES)})",
    )
    parser.add_argument(
        "--lines",
        nargs="+",
        choices=results_lines.LINES,
        default=list(results_lines.LINES),
        help="of each (all)",
    )
    parser.add_argument("--batch", type=int, help="(by network)")
    parser.add_argument("--image", type=int, help="(by network)")
    parser.add_argument("--depth", type=int, help="of networks that have one")
    parser.add_argument(
        "--optimizer",
        choices=recipe.OPTIMIZERS,
        default="sgd",
        help="(%(default)s)",
    )
    parser.add_argument(
        "--steps", type=int, default=8, help="measured steps (%(default)s)"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=child.ROOT / "results" / "networks",
        help="where measurements are kept (%(default)s)",
    )
    parser.add_argument(
        "--again", action="store_true", help="measure what is there, too"
    )
    parser.add_argument(
        "--page",
        type=Path,
        help="write the tables into this page, such as docs/results.md",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args(argv)


class Network:
    """What was measured of one network, in memory and in a file.

    Attributes:
        found: See `benchmarks.results_lines`.
        is_kept: Whether there is such a file.
    """

    def __init__(self, options, model):
        """Reads what earlier commands with the same settings have kept."""
        batch, image = SIZES.get(
            model, (_OTHER_BATCH, models.entry(model).image)
        )
        settings = {
            "model": model,
            "batch": options.batch or batch,
            "image": options.image or image,
            "depth": options.depth,
            "optimizer": options.optimizer,
            "steps": options.steps,
        }
        self.found = settings | {"lines": {}}
        self._common = [
            *arguments.network(
                options, settings["batch"], model=model, image=settings["image"]
            ),
            *("--optimizer", options.optimizer, "--steps", options.steps),
        ]
        self._path = options.folder / f"{model}-{options.optimizer}.json"
        self.is_kept = False
        if self._path.exists():
            kept = json.loads(self._path.read_text())
            self.is_kept = settings == {name: kept[name] for name in settings}
            if self.is_kept:
                self.found = kept

    def _keep(self):
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(self.found, indent=1) + "\n")
        new.replace(self._path)

    def _train(self, *arguments):
        stock, one = turns.train_in_turn(
            [*self._common, "--mode", "stock"], [*self._common, *arguments]
        )
        return results_lines.record(one, stock)

    def measure(self, names, *, again):
        """Measures lines, and the route, unless they are there.

        Args:
            names: Of `results_lines.LINES`; those that do not apply are left
                out.
            again: Measure them also where they are there.
        """
        route, lines = results_lines.ROUTE, self.found["lines"]
        for name in results_lines.LINES:
            wanted = name in names and (again or name not in lines)
            if name == route and route not in lines:
                wanted = True
            if wanted and results_lines.applies(name, self.found):
                self._measure(name)
            if route not in lines:
                return

    def _measure(self, name):
        what = f"{self.found['model']}, {name}"
        try:
            line = results_lines.measure(name, self.found, self._train)
        except RuntimeError as error:
            output.progress(f"{what}: {error}")
            return
        self.found["lines"][name] = line
        self._keep()
        output.progress(f"{what}: {results_page.outcome(name, self.found)}")


def main(argv=None):
    """Entry point of `python -m benchmarks.results`."""
    options = parse(argv)
    chosen = [Network(options, model) for model in options.models]
    for network in chosen:
        network.measure(options.lines, again=options.again)
    if options.page:
        names = {network.found["model"] for network in chosen}
        others = [
            Network(options, model) for model in SIZES if model not in names
        ]
        shown = [*chosen, *(one for one in others if one.is_kept)]
        results_page.write(options.page, [one.found for one in shown])
    found = [network.found for network in chosen]
    if options.json:
        print(json.dumps(found))
    else:
        print(results_page.section(found))
    missed = results_page.missed(found, options.lines)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
