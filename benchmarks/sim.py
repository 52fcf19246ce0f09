# SPDX-License-Identifier: Apache-2.0
"""Measures the simulated device: pacing, overlap and overhead.

pacing    Copies of --bytes in each direction over every preset, by wall time
          over modelled time; 1 is exact. First over a link without limit, for
          this machine's own speed. A preset that is too fast for it is counted
          only, and runs in addition slowed by the smallest power of two with
          which it leaves the machine some room.
overlap   Both directions at once, and a computation beside copies.
overhead  Training steps on the device with a link without limit over those on
          the CPU, taken in turn, both in the same mode.

Exit status: 0, whatever the numbers are, unless a measurement fails.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

from benchmarks import (
    arguments,
    child,
    compare,
    markdown,
    output,
    sim_overlap,
)

PARTS = ("pacing", "overlap", "overhead")
PRESETS = ("pcie3", "pcie4", "pcie5", "nvlink2", "nvlink4")
# Batch and image of the networks of the overhead.
SIZES = {"resnet50": (8, 64), "vgg16": (8, 64), "transformer": (8, 64)}
_PACING_TARGET = 0.05
_OVERHEAD_TARGET = 1.05
# Of this machine's own speed. What is left makes good for late wake-ups.
_SHARE_OF_MACHINE = 0.75


def _size(text):
    """Checks the size, and leaves it as text for the measurements."""
    from sn_tf.budget import parse_size

    try:
        parse_size(text, argument="bytes")
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def parse(argv=None):
    """Returns the parsed command line."""
    parser = arguments.command_parser("benchmarks.sim", __doc__)
    parser.add_argument(
        "--only", nargs="+", choices=PARTS, default=PARTS, help="(all)"
    )
    parser.add_argument(
        "--bytes", type=_size, default="1GiB", help="of each copy (%(default)s)"
    )
    parser.add_argument(
        "--presets", nargs="+", choices=PRESETS, default=PRESETS, help="(all)"
    )
    parser.add_argument(
        "--models",
        nargs="+",
        choices=[*SIZES, "mlp"],
        default=list(SIZES),
        help="of the overhead (%(default)s)",
    )
    parser.add_argument(
        "--mode",
        choices=("stock", "order"),
        default="stock",
        help="of the overhead, on both sides (%(default)s)",
    )
    parser.add_argument(
        "--memory",
        default="4GB",
        help="of the device, for the overhead (%(default)s)",
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=10,
        help="of a training, after the warm-up ones (%(default)s)",
    )
    parser.add_argument(
        "--rounds", type=int, help="(9 for pacing, 5 for overlap, else 3)"
    )
    parser.add_argument(
        "--json", action="store_true", help="print a JSON object, last"
    )
    return parser.parse_args(argv)


def _rounds(options):
    return ["--rounds", options.rounds] if options.rounds else []


# ---- Pacing -----------------------------------------------------------------


def times_slower(bytes_per_s, machine_bytes_per_s):
    """The smallest power of two by which a link must be slowed.

    Args:
        bytes_per_s: Of the link.
        machine_bytes_per_s: With which this machine copies.
    """
    times = 1
    while bytes_per_s / times > _SHARE_OF_MACHINE * machine_bytes_per_s:
        times *= 2
    return times


def run_pacing(options):
    """Returns the pacing of this machine and of every preset, as lines."""

    def measure(link):
        output.progress(f"pacing: {link}")
        given = ["--link", link, "--bytes", options.bytes]
        return child.run(
            "benchmarks.sim_pacing",
            [*given, *_rounds(options)],
            quiet=True,
        )

    own = measure("unlimited")
    machine = min(path["bytes_per_s"] for path in own["paths"].values())
    lines = [own | {"preset": "unlimited", "slower": 1, "counted_only": True}]
    for preset in options.presets:
        whole = measure(preset)
        slower = times_slower(whole["bandwidth_bytes_per_s"], machine)
        lines.append(
            whole | {"preset": preset, "slower": 1, "counted_only": slower > 1}
        )
        if slower > 1:
            slowed = measure(f"{preset}/{slower}")
            lines.append(
                slowed
                | {"preset": preset, "slower": slower, "counted_only": False}
            )
    return {
        "bytes": options.bytes,
        "machine_bytes_per_s": machine,
        "links": lines,
    }


def within_target(line):
    """Whether all copies of a line keep to the model within the target."""
    return all(
        abs(path["ratio"] - 1) <= _PACING_TARGET
        for path in line["paths"].values()
    )


def pacing_table(found):
    """The pacing as a markdown table."""
    paths = list(found["links"][0]["paths"])
    head = ["link", "modelled", *paths, "within 5%"]
    rows = []
    for line in found["links"]:
        bandwidth = line["bandwidth_bytes_per_s"]
        row = [line["link"], f"{bandwidth / 1e9:.2f} GB/s" if bandwidth else ""]
        for path in line["paths"].values():
            ratio = f"{path['ratio']:.3f}: " if path["ratio"] else ""
            row.append(f"{ratio}{path['bytes_per_s'] / 1e9:.2f} GB/s")
        if not bandwidth:
            row.append("the machine's own speed")
        elif line["counted_only"]:
            row.append("counted only")
        else:
            row.append("yes" if within_target(line) else "no")
        rows.append(row)
    return (
        f"Pacing, {found['bytes']} each way: wall time / modelled time "
        "(pageable memory is modelled at half of the bandwidth), and the "
        f"speed that it comes to\n\n{markdown.table(head, rows)}"
    )


# ---- Overhead ---------------------------------------------------------------


def onednn_is_on():
    """Whether TensorFlow uses oneDNN's kernels here, as it says itself."""
    done = subprocess.run(
        [sys.executable, "-c", "import tensorflow"],
        capture_output=True,
        text=True,
        env=child.environment() | {"TF_CPP_MIN_LOG_LEVEL": "0"},
        check=True,
    )
    return "oneDNN custom operations are on" in done.stderr


def run_overhead(options):
    """Returns the comparison of each network, the device against the CPU."""
    lines = []
    for model in options.models:
        batch, image = SIZES.get(model, (8, 64))
        common = [
            *("--model", model, "--batch", batch, "--image", image),
            *("--steps", options.steps, "--mode", options.mode),
        ]
        sim = [
            *("--device", "sim", "--memory", options.memory),
            *("--link", "unlimited"),
        ]
        output.progress(f"overhead: {model}, batch {batch}, {image}x{image}")
        found = compare.compare(
            *compare.measure(
                [*common, *sim],
                [*common, "--device", "cpu"],
                options.rounds or 3,
            )
        )
        lines.append({"model": model, "batch": batch, "image": image} | found)
    return {
        "mode": options.mode,
        "onednn": onednn_is_on(),
        "onednn_variable": os.environ.get("TF_ENABLE_ONEDNN_OPTS"),
        "models": lines,
    }


def overhead_table(found):
    """The overhead as a markdown table."""
    head = ["network", "batch", "image", "SIM", "CPU", "SIM / CPU", "rounds"]
    head.append("at most 1.05")
    rows = []
    for line in found["models"]:
        time = line["step_time_s"]
        rows.append(
            [
                line["model"],
                str(line["batch"]),
                f"{line['image']}x{line['image']}",
                f"{statistics.median(time['a']):.3f} s",
                f"{statistics.median(time['b']):.3f} s",
                f"{time['ratio']:.3f}",
                f"{time['ratio_min']:.3f} to {time['ratio_max']:.3f}",
                "yes" if time["ratio"] <= _OVERHEAD_TARGET else "no",
            ]
        )
    onednn = "on" if found["onednn"] else "off"
    variable = found["onednn_variable"] or "not set"
    return (
        f"Overhead, mode {found['mode']}, link unlimited; oneDNN is {onednn} "
        f"(TF_ENABLE_ONEDNN_OPTS: {variable})\n\n{markdown.table(head, rows)}"
    )


# ---- All --------------------------------------------------------------------


def run_overlap(options):
    """Returns what `benchmarks.sim_overlap` has measured."""
    output.progress("overlap")
    given = ["--bytes", options.bytes, *_rounds(options)]
    return child.run("benchmarks.sim_overlap", given, quiet=True)


_RUN = {
    "pacing": (run_pacing, pacing_table),
    "overlap": (
        run_overlap,
        lambda found: f"Overlap\n\n{sim_overlap.table(found)}",
    ),
    "overhead": (run_overhead, overhead_table),
}


def main(argv=None):
    """Entry point of `python -m benchmarks.sim`."""
    options = parse(argv)
    found = {}
    for part in PARTS:
        if part not in options.only:
            continue
        run, table = _RUN[part]
        found[part] = run(options)
        print(f"{table(found[part])}\n", flush=True)
    if options.json:
        print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
