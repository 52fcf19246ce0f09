# SPDX-License-Identifier: Apache-2.0
"""The memory of the whole process: ResNet-50, batch 64, with the file tier.

With tiers in files, what leaves TensorFlow's memory leaves the machine's. So
the peak of the resident set size falls, of which Python and TensorFlow's own
code are part. Three trainings, each in its own process:

stock  TensorFlow without sn_tf in the process (benchmarks.plain)
order  the plan's route, with nothing moved: for the weights, because stock
       TensorFlow rounds differently from run to run
sn     inside a budget; where none is given, the one that should save the
       share that is wanted and a little more, lowered where it does not

Then stock and sn run within a limit between what the two take. It is a cgroup's
where one can be made, else `ulimit -d` (benchmarks.memory_limit).

Targets: sn's peak is at least 40% below stock's; its weights are the same bits
as those of order, with and without the limit; within it, stock fails or is
killed, and sn trains.

Exit status: 0, or 1 when a target is missed.
"""

import json
import sys

from benchmarks import arguments, child, markdown, memory_limit, output

_LEAST_SAVED = 0.40
# What the first budget aims at: the resident set varies by some percent.
_AIM = 0.43
_MOST_RUNS = 3
# Of the memory behind a budget, an eighth more may stay resident.
_RESIDENT_PER_BUDGET = 1.125
# Of stock's peak, for a cgroup.
_CGROUP_SHARE = 0.75
# Of a budget: the arena is whole powers of two, and its free memory in pieces.
_ARENA_SHARE = 1.25


def parse(argv=None):
    """Returns the parsed command line."""
    parser = arguments.command_parser("benchmarks.real_memory", __doc__)
    arguments.add_network_arguments(parser, model="resnet50", image=112)
    parser.add_argument("--batch", type=int, default=64, help="(%(default)s)")
    parser.add_argument("--budget", help="(searched for)")
    parser.add_argument("--tiers", default="file", help="(%(default)s)")
    parser.add_argument(
        "--limit", help="of the limited runs, such as 2GB (by what stock takes)"
    )
    arguments.add_comparison_arguments(parser, steps=3)
    return parser.parse_args(argv)


class _Trainings:
    """What the options say of each training."""

    def __init__(self, options):
        self._common = arguments.network(options, options.batch)
        self._common += ["--steps", options.steps]
        self._tier = arguments.tiers(options, options.tiers)

    def stock(self, prefix=()):
        return child.run(
            "benchmarks.plain", self._common, quiet=True, prefix=prefix
        )

    def order(self):
        return child.train_step(*self._common, "--mode", "order", quiet=True)

    def planned(self, budget, prefix=()):
        return child.train_step(
            *(*self._common, *self._tier),
            *("--mode", "sn", "--budget", budget),
            quiet=True,
            prefix=prefix,
        )


def first_budget(stock, order):
    """The budget that should save the share that is aimed at."""
    rest = order["rss_peak_bytes"] - order["peak_bytes"]
    wanted = (1 - _AIM) * stock["rss_peak_bytes"]
    budget = int((wanted - rest) / _RESIDENT_PER_BUDGET)
    return max(budget, order["floor_bytes"])


def find_budget(stock, order, run):
    """Lowers the budget until enough is saved, or no lower one is possible.

    Args:
        stock: Result of stock TensorFlow.
        order: Result of the route alone.
        run: Trains in a budget, in bytes, and returns the result.

    Returns:
        The result of the last training that there was a plan for.
    """
    most = (1 - _LEAST_SAVED) * stock["rss_peak_bytes"]
    budget = first_budget(stock, order)
    last = None
    for _ in range(_MOST_RUNS):
        one = run(budget)
        if "error" in one:
            if last is not None:
                return last
            budget = one["min_budget_bytes"] or 2 * budget
            continue
        last = one
        if one["rss_peak_bytes"] <= most:
            break
        budget -= int((one["rss_peak_bytes"] - most) + 0.05 * budget)
    return one if last is None else last


def arena_bytes(budget_bytes):
    """The smallest power of two that holds a budget, with free pieces."""
    size = 1
    while size < _ARENA_SHARE * budget_bytes:
        size *= 2
    return size


def choose_limit(given, stock, budget_bytes, *, is_cgroup):
    """Bytes of the limit.

    Args:
        given: By the user; None to choose.
        stock: Result of stock TensorFlow.
        budget_bytes: Of the training that is to fit.
        is_cgroup: Whether it limits resident memory, or private memory.
    """
    if given is not None:
        from sn_tf.budget import parse_size

        return parse_size(given, argument="limit")
    if is_cgroup:
        return int(_CGROUP_SHARE * stock["rss_peak_bytes"])
    arena = arena_bytes(budget_bytes)
    return stock["data_before_bytes"] + arena + arena // 2


def outcome(run):
    """How a training ended: its result, or what there is to say of its end."""
    try:
        one = run()
    except RuntimeError as error:
        # The command and its end are in the first two lines.
        status, *rest = str(error).splitlines()[1:]
        return {"trained": False, "how": _why(status, rest)}
    if "error" in one:
        return {"trained": False, "how": f"{one['error']}: {one['message']}"}
    return {
        "trained": True,
        "how": f"trained, peak resident {one['rss_peak_bytes'] / 1e6:.0f} MB",
        "weights_sha256": one["weights_sha256"],
    }


def _why(status, lines):
    """The end of a process, and the line that says what it lacked."""
    telling = [
        line.strip()
        for line in lines
        if any(word in line for word in ("OOM", "bad_alloc", "MemoryError"))
    ]
    status = status.split(".")[0].lower()
    return f"{status}; {telling[-1][:120]}" if telling else status


def run_limited(options, trainings, stock, budget_bytes):
    """Runs stock and sn within a limit."""
    parent = memory_limit.parent_group()
    limit = choose_limit(
        options.limit, stock, budget_bytes, is_cgroup=parent is not None
    )
    if parent is None:
        kind, within = "ulimit -d", memory_limit.data_limit(limit)
    else:
        kind, within = "cgroup", memory_limit.cgroup(parent, limit)
    with within as prefix:
        output.progress(f"{kind}, {limit / 1e6:.0f} MB: stock")
        stock_outcome = outcome(lambda: trainings.stock(prefix))
        output.progress(f"{kind}, {limit / 1e6:.0f} MB: sn")
        sn_outcome = outcome(lambda: trainings.planned(budget_bytes, prefix))
    return {
        "kind": kind,
        "limit_bytes": limit,
        "stock": stock_outcome,
        "sn": sn_outcome,
    }


def run(options):
    """Runs all of it and returns a dictionary."""
    trainings = _Trainings(options)
    output.progress("stock")
    stock = trainings.stock()
    output.progress("order")
    order = trainings.order()

    def planned(budget):
        output.progress(f"sn, budget {budget}")
        return trainings.planned(budget)

    if options.budget:
        sn = planned(options.budget)
    else:
        sn = find_budget(stock, order, planned)
    for one in (order, sn):
        child.unless_failed(one)
    kept = ("rss_peak_bytes", "step_time_s", "weights_sha256")
    found = {
        "stock": {name: stock[name] for name in kept},
        "order": {
            name: order[name] for name in (*kept, "peak_bytes", "budget_bytes")
        },
        "sn": {
            name: sn[name]
            for name in (
                *(*kept, "peak_bytes", "budget_bytes"),
                *("swapped_out_bytes_per_step", "recomputed_ops"),
            )
        },
        "saved": 1 - sn["rss_peak_bytes"] / stock["rss_peak_bytes"],
        "limited": run_limited(options, trainings, stock, sn["budget_bytes"]),
    }
    return found | {"faults": faults(found)}


def faults(found):
    """The targets that are missed; see the module."""
    problems = []
    if found["saved"] < _LEAST_SAVED:
        problems.append(f"peak less than {_LEAST_SAVED:.0%} below stock's")
    weights = found["order"]["weights_sha256"]
    if found["sn"]["weights_sha256"] != weights:
        problems.append("weights differ")
    limited = found["limited"]
    if limited["stock"]["trained"]:
        problems.append("stock trains within the limit")
    if not limited["sn"]["trained"]:
        problems.append("sn does not train within the limit")
    elif limited["sn"]["weights_sha256"] != weights:
        problems.append("weights differ within the limit")
    return problems


def table(found):
    """Both tables as markdown, and what was missed."""
    rows = []
    for name, label in (
        ("stock", "stock TensorFlow"),
        ("order", "the plan's route, nothing moved"),
        ("sn", "sn_tf"),
    ):
        one = found[name]
        below = 1 - one["rss_peak_bytes"] / found["stock"]["rss_peak_bytes"]
        same = one["weights_sha256"] == found["order"]["weights_sha256"]
        rows.append(
            [
                label,
                markdown.megabytes(one.get("budget_bytes") or None),
                markdown.megabytes(one["rss_peak_bytes"]),
                f"{below:.1%}",
                f"{one['step_time_s']:.3f} s",
                "-" if name == "stock" else markdown.yes(same),
            ]
        )
    head = ["training", "budget", "peak resident set", "below stock"]
    head += ["step time", "the route's weights"]
    limited = found["limited"]
    lines = [markdown.table(head, rows), ""]
    lines.append(
        f"Within {markdown.megabytes(limited['limit_bytes'])} "
        f"({limited['kind']}):"
    )
    ends = [
        ["stock TensorFlow", limited["stock"]["how"]],
        ["sn_tf", limited["sn"]["how"]],
    ]
    lines += ["", markdown.table(["training", "outcome"], ends), ""]
    lines.append(f"Targets: {'; '.join(found['faults']) or 'met'}")
    return "\n".join(lines)


def main(argv=None):
    """Entry point of `python -m benchmarks.real_memory`."""
    options = parse(argv)
    found = run(options)
    if options.json:
        print(json.dumps(found))
    else:
        print(
            f"{options.model}, batch {options.batch}, "
            f"{options.image}x{options.image}, tiers {options.tiers}\n\n"
            f"{table(found)}"
        )
    return 1 if found["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
