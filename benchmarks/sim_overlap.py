# SPDX-License-Identifier: Apache-2.0
"""Measures what goes on at once on the simulated device.

Copies in both directions, each alone and then both; and a computation on the
device, alone and then beside copies. For `benchmarks.sim`.
"""

import concurrent.futures
import json
import os
import statistics
import sys
import time

from benchmarks import arguments, markdown

# The computation ends while the copies go on, so that all of it is beside them.
_SHARE_OF_COPYING = 0.8
_MATRIX = 768
_PRODUCTS = 10  # Of a call: enough to make its own time small.


def run(options):
    """Measures as `options` say.

    Returns:
        A dictionary with the wall times of every round, and the medians of
        their ratios.
    """
    import sn_tf  # Before TensorFlow makes its devices.
    from benchmarks import copies
    from sn_tf.budget import parse_size

    total_bytes = parse_size(options.bytes, argument="bytes")
    sn_tf.sim.configure(copies.memory_bytes(total_bytes), link=options.link)
    copies.keep_all_ops()
    made = copies.make(total_bytes)
    pageable = [made[f"to {end}, pageable"] for end in ("device", "host")]
    for path in pageable:
        path.warm_up()
    to_device, to_host = (path.make for path in pageable)
    _, link = copies.measure(to_device)
    compute = _computation(_SHARE_OF_COPYING * link.to_device_modelled_seconds)
    rounds = [
        _round(to_device, to_host, compute) for _ in range(options.rounds)
    ]
    return {"link": options.link} | summarize(rounds)


def _computation(seconds):
    """A computation on the device that takes about so long alone."""
    import tensorflow as tf

    import sn_tf

    with sn_tf.sim.scope():
        matrix = tf.eye(_MATRIX)

    @tf.function
    def multiply(left, right):
        for _ in range(_PRODUCTS):
            left = tf.matmul(left, right)
        return left

    def compute(times):
        product = matrix
        # A function that is called elsewhere sends its results there, over the
        # link.
        with sn_tf.sim.scope():
            for _ in range(times):
                product = multiply(product, matrix)

    compute(2)
    times = 4
    begin = time.perf_counter()
    compute(times)
    one = (time.perf_counter() - begin) / times
    return lambda: compute(max(1, round(seconds / one)))


def _round(to_device, to_host, compute):
    """Every measurement once."""
    from benchmarks import copies

    found = {}
    found["to_device"], sent = copies.measure(to_device)
    found["to_host"], fetched = copies.measure(to_host)
    found["both"], both = copies.measure(lambda: _at_once(to_host, to_device))
    found["computing"], _ = copies.measure(compute)
    meanwhile = []  # How long the computation took, and the link's part.
    found["together"], _ = copies.measure(
        lambda: _at_once(
            to_device, lambda: meanwhile.extend(copies.measure(compute))
        )
    )
    found["computing_meanwhile"], beside = meanwhile
    found["stalled_alone"] = sent.stall_seconds
    found["stalled_meanwhile"] = beside.stall_seconds
    found["bytes"] = [
        sent.to_device_bytes,
        fetched.to_host_bytes,
        both.to_device_bytes + both.to_host_bytes,
    ]
    return found


def _at_once(other, call):
    """Calls `other` on a thread and `call` on this one; waits for both."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        there = pool.submit(other)
        call()
        there.result()


def summarize(rounds):
    """The rounds' values in lists, and the ratios' medians."""

    def ratio(of):
        return statistics.median(of(one) for one in rounds)

    return {name: [one[name] for one in rounds] for name in rounds[0]} | {
        "both_ratio": ratio(
            lambda one: one["both"] / max(one["to_device"], one["to_host"])
        ),
        "together_ratio": ratio(
            lambda one: (
                one["together"] / max(one["to_device"], one["computing"])
            )
        ),
        "slowdown": ratio(
            lambda one: one["computing_meanwhile"] / one["computing"]
        ),
        "stall_share_alone": ratio(
            lambda one: one["stalled_alone"] / one["to_device"]
        ),
        "stall_share_meanwhile": ratio(
            lambda one: one["stalled_meanwhile"] / one["computing_meanwhile"]
        ),
    }


def table(found):
    """The measurement as a markdown table: medians, and ratios."""

    def seconds(name):
        return f"{statistics.median(found[name]):.3f} s"

    rows = [
        ("copies to the device", seconds("to_device"), ""),
        ("copies to the host", seconds("to_host"), ""),
        (
            "both at once",
            seconds("both"),
            f"{found['both_ratio']:.3f} of the longer one",
        ),
        ("computation on the device", seconds("computing"), ""),
        (
            "the same beside copies to the device",
            seconds("computing_meanwhile"),
            f"{found['slowdown']:.3f} of the computation alone",
        ),
        (
            "until both have ended",
            seconds("together"),
            f"{found['together_ratio']:.3f} of the longer one",
        ),
    ]
    shares = (
        f"Part of the time in which the device stood still for the link: "
        f"{found['stall_share_alone']:.0%} with copies alone, "
        f"{found['stall_share_meanwhile']:.0%} while it computed beside them."
    )
    table = markdown.table(("what", "time", "remark"), rows)
    return "\n".join([f"Link {found['link']}:", "", table, "", shares])


def main(argv=None):
    """Entry point of `python -m benchmarks.sim_overlap`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    parser = arguments.copies_parser(
        "benchmarks.sim_overlap", __doc__, link="pcie3/8", rounds=5
    )
    options = parser.parse_args(argv)
    found = run(options)
    print(json.dumps(found) if options.json else table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
