# SPDX-License-Identifier: Apache-2.0
"""Writes measured results into README.md, between its two markers.

Example: `python -m benchmarks.readme results/demo.json`
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks import child, markdown

BEGIN = "<!-- results:begin -->"
END = "<!-- results:end -->"
_LABELS = {
    "stock-limited": "stock TensorFlow inside the budget",
    "sn": "sn_tf inside the budget",
    "stock": "stock TensorFlow, no limit",
}


def table(results):
    """Three results of `benchmarks.train_step` as a markdown table.

    Args:
        results: Dictionary from mode to result.
    """
    head = ["run", "budget", "peak memory", "step time", "loss, first to last"]
    rows = []
    for mode, label in _LABELS.items():
        one = results[mode]
        budget = one["budget_bytes"]
        row = [label, f"{budget / 1e6:.0f} MB" if budget else "none"]
        if "error" in one:
            row += [f"fails: {one['error']}", "-", "-"]
        else:
            row += [
                f"{one['peak_bytes'] / 1e6:.1f} MB",
                f"{one['step_time_s']:.2f} s",
                f"{one['loss'][0]:.3f} to {one['loss'][-1]:.3f}",
            ]
        rows.append(row)
    return markdown.table(head, rows)


def section(results):
    """The table and the sentence that says what was run."""
    sn = results["sn"]
    return (
        f"{sn['model']}, batch {sn['batch']}, {sn['image']}x{sn['image']} "
        f"images, {sn['optimizer']}, {len(sn['loss'])} steps, TensorFlow "
        f"{sn['tf_version']}, {sn['cpus']} CPU cores:\n\n{table(results)}"
    )


def update(path, text):
    """Replaces what is between the markers of the file at `path`.

    Raises:
        ValueError: If the file has no such place.
    """
    old = path.read_text()
    before, begin, rest = old.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(
            f"{path} has no place for results. Expected the lines {BEGIN} "
            f"and {END}, in this order."
        )
    path.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def main(argv=None):
    """Entry point of `python -m benchmarks.readme`."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.readme", description=__doc__.split("\n")[0]
    )
    parser.add_argument("results", type=Path, help="written by the demo")
    parser.add_argument("--readme", type=Path, default=child.ROOT / "README.md")
    options = parser.parse_args(argv)
    update(options.readme, section(json.loads(options.results.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
