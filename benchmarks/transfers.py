# SPDX-License-Identifier: Apache-2.0
"""Moves buffers to a tier and back, and computes nothing.

What a step's transfers take by themselves, with the ops that plans use. Each
turn moves all buffers out, then all of them back in, and then, in a third
part, out once more while what is out comes back. A training cannot do the
latter: what it brings back in a step, it has moved out in that step.

Buffers are as activations are: half of their words are zero.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import time

from benchmarks import WARM_UP_STEPS, arguments


class _Transfers:
    """The three parts of a turn, as functions that TensorFlow runs."""

    def __init__(self, options):
        import tensorflow as tf

        from benchmarks import copies
        from sn_tf import _library

        self._tf = tf
        self._copies = copies
        self._ops = tf.load_op_library(str(_library._LIBRARY_PATH))
        self._where = {
            "tiers": options.tiers,
            "swap_dir": options.swap_dir or "",
        }
        self._tensors = [
            tf.nn.relu(
                tf.random.stateless_normal([max(1, size // 4)], [seed, 0])
            )
            for seed, size in enumerate(options.sizes)
        ]
        self._out = tf.function(self._move_out)
        self._in = tf.function(self._move_in)
        self._both = tf.function(self._move_both)

    def _move_out(self, tensors):
        return self._copies.move_out(self._ops, tensors, **self._where)

    def _move_in(self, handles):
        back = self._copies.move_in(self._ops, handles, self._tf.float32)
        with self._tf.control_dependencies(back):
            return self._tf.constant(0)

    def _move_both(self, tensors, handles):
        return self._move_out(tensors), self._move_in(handles)

    def turn(self):
        """Returns the seconds of the three parts."""
        begin = time.perf_counter()
        handles = self._out(self._tensors)
        out = time.perf_counter()
        self._in(handles).numpy()
        back = time.perf_counter()
        _, done = self._both(self._tensors, handles)
        done.numpy()
        return out - begin, back - out, time.perf_counter() - back


def run(options):
    """Makes the transfers as `options` say.

    Returns:
        A dictionary with the seconds of each turn; `step_times_s` is of out
        and in, one after the other.
    """
    import sn_tf  # Before TensorFlow makes its devices.
    from benchmarks import copies, devices, turns

    devices.configure(options)
    copies.keep_all_ops()
    device = devices.name_of(options)
    parts = []
    with devices.scope(options):
        transfers = _Transfers(options)
        before = sn_tf.stats(device)
        for _ in range(WARM_UP_STEPS + options.steps):
            with turns.turn() if options.turns else contextlib.nullcontext():
                parts.append(transfers.turn())
    after = sn_tf.stats(device)
    moved = after.swapped_out_bytes - before.swapped_out_bytes
    out, back, both = (list(one) for one in zip(*parts, strict=True))
    return {
        "bytes": sum(options.sizes),
        # Out twice in each turn.
        "out_bytes_per_step": moved / len(parts) / 2,
        "out_seconds": out,
        "in_seconds": back,
        "both_seconds": both,
        "step_times_s": [sum(one) for one in zip(out, back, strict=True)],
    }


def _sizes(text):
    """Sizes in bytes, with commas between; none is as good."""
    sizes = [int(size) for size in text.split(",") if text]
    if min(sizes, default=1) < 1:
        raise argparse.ArgumentTypeError(f"a size is below 1: {text}")
    return sizes


def parser():
    """Returns the parser of the command line."""
    made = arguments.command_parser("benchmarks.transfers", __doc__)
    made.add_argument(
        "--sizes",
        type=_sizes,
        default=[2**24] * 16,
        help="bytes of the buffers, with commas between (16 of 16 MiB)",
    )
    made.add_argument("--tiers", default="file", help="(%(default)s)")
    made.add_argument("--swap-dir", help="folder of the file tier")
    arguments.add_device_arguments(made)
    made.add_argument("--steps", type=int, default=5, help="(%(default)s)")
    made.add_argument("--turns", action="store_true", help=argparse.SUPPRESS)
    made.add_argument("--json", action="store_true", help="print JSON")
    return made


def summary(found):
    """The measurement for people."""
    lines = [f"{found['bytes'] / 1e6:.1f} MB each way"]
    for name in ("out", "in", "both"):
        times = found[f"{name}_seconds"][WARM_UP_STEPS:]
        lines.append(f"  {name:5}{statistics.median(times):.3f} s")
    return "\n".join(lines)


def main(argv=None):
    """Entry point of `python -m benchmarks.transfers`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    options = parser().parse_args(argv)
    found = run(options)
    print(json.dumps(found) if options.json else summary(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
