# SPDX-License-Identifier: Apache-2.0
"""Measures how well the copies of one link keep to its model.

Each way of copying is called a few times; the wall time of each call is held
against the time that the link should have taken. For `benchmarks.sim`, which
runs it once a link: a process makes its devices once.
"""

import json
import os
import statistics
import sys

from benchmarks import arguments


def run(options):
    """Measures every path of `copies.PATHS`.

    Returns:
        A dictionary with the link's name and bandwidth, and the paths: for
        each the bytes that a call copied, and of every round the wall time and
        the modelled one.
    """
    import sn_tf  # Before TensorFlow makes its devices.
    from benchmarks import copies
    from sn_tf.budget import parse_size

    total_bytes = parse_size(options.bytes, argument="bytes")
    sn_tf.sim.configure(copies.memory_bytes(total_bytes), link=options.link)
    copies.keep_all_ops()
    made = copies.make(total_bytes)
    for path in made.values():
        path.warm_up()
    # In turn: what slows this machine down for a while slows every path.
    rounds = [
        [copies.measure(*path) for path in made.values()]
        for _ in range(options.rounds)
    ]
    paths = {
        path: _summarize([one[index] for one in rounds])
        for index, path in enumerate(made)
    }
    link = sn_tf.stats("SIM:0").link
    return {
        "link": link.name,
        "bandwidth_bytes_per_s": link.bandwidth_bytes_per_s,
        "paths": paths,
    }


def _summarize(rounds):
    """What the rounds of one path have measured."""
    seconds = [wall for wall, _ in rounds]
    _, link = rounds[0]
    modelled = link.to_device_modelled_seconds + link.to_host_modelled_seconds
    median = statistics.median(seconds)
    copied = link.to_device_bytes + link.to_host_bytes
    return {
        "to_device_bytes": link.to_device_bytes,
        "to_host_bytes": link.to_host_bytes,
        "seconds": seconds,
        "modelled_seconds": modelled,
        "bytes_per_s": copied / median,
        # None where the link is without limit.
        "ratio": median / modelled if modelled else None,
        "ratio_min": min(seconds) / modelled if modelled else None,
        "ratio_max": max(seconds) / modelled if modelled else None,
    }


def summary(found):
    """The measurement for people."""
    lines = [f"link {found['link']}"]
    for path, one in found["paths"].items():
        ratio = f"{one['ratio']:.3f}" if one["ratio"] else "-"
        lines.append(
            f"  {path:20}  {one['bytes_per_s'] / 1e9:.2f} GB/s, "
            f"wall / modelled time {ratio}"
        )
    return "\n".join(lines)


def main(argv=None):
    """Entry point of `python -m benchmarks.sim_pacing`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    parser = arguments.copies_parser(
        "benchmarks.sim_pacing", __doc__, link="pcie3", rounds=9
    )
    options = parser.parse_args(argv)
    found = run(options)
    print(json.dumps(found) if options.json else summary(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
