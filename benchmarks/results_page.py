# SPDX-License-Identifier: Apache-2.0
"""The page of `benchmarks.results`: tables of what was measured."""

from benchmarks import markdown, readme, results_lines
from benchmarks.results_lines import LINES, ROUTE

_MADE_BY = "python -m benchmarks.results --page docs/results.md"
_TITLE = "# Results"


def outcome(name, found):
    """What a line came to, in few words."""
    if not results_lines.applies(name, found):
        return "too near the floor"
    problems = results_lines.faults(name, found)
    one = found["lines"].get(name, {})
    ratio = [f"{one['of_stock']:.3f} of stock's"] if "of_stock" in one else []
    return "; ".join([*ratio, *(problems or ["met"])])


def _times(value):
    return "-" if value is None else f"{value:.3f}"


def networks_table(networks):
    """Networks, and what they take without a budget."""
    head = [
        *("network", "batch", "image", "resident", "stock's peak"),
        *("the rest / resident", "floor", "floor / stock's peak", "step"),
    ]
    rows = []
    for found in networks:
        begin = [found["model"], found["batch"], found["image"]]
        route = found["lines"].get(ROUTE)
        if route is None:
            rows.append([*begin, *["-"] * (len(head) - len(begin))])
            continue
        # After a step; what a plan calls resident has the inputs too.
        resident = route["stock_resident_bytes"]
        stock = route["stock_peak_bytes"]
        floor = results_lines.floor_bytes(found)
        rows.append(
            [
                *begin,
                markdown.megabytes(resident),
                markdown.megabytes(stock),
                f"{(stock - resident) / resident:.1f}",
                markdown.megabytes(floor),
                _times(floor / stock),
                f"{route['stock_step_time_s']:.2f} s",
            ]
        )
    return markdown.table(head, rows)


def _ratio(name, found):
    if not results_lines.applies(name, found):
        return "-"
    one = found["lines"].get(name)
    if one is None:
        return "not measured"
    if "error" in one:
        return one["error"]
    text = _times(one["of_stock"])
    return f"**{text}**" if one["of_stock"] > LINES[name].most else text


def ratios_table(networks):
    """Step times, as multiples of stock's; those above the target are bold."""
    head = ["network"]
    head += [f"{line.label} (≤ {line.most:.2f})" for line in LINES.values()]
    rows = [
        [found["model"], *(_ratio(name, found) for name in LINES)]
        for found in networks
    ]
    return markdown.table(head, rows)


def _training_row(found, name):
    one = found["lines"][name]
    begin = [found["model"], LINES[name].label]
    verdict = "; ".join(results_lines.faults(name, found)) or "met"
    route = found["lines"][ROUTE]
    budgeted = name != ROUTE
    begin += [
        markdown.megabytes(one["budget_bytes"] if budgeted else None),
        _times(
            one["budget_bytes"] / route["stock_peak_bytes"]
            if budgeted
            else None
        ),
    ]
    if "error" in one:
        return [*begin, *["-"] * 7, verdict]
    return [
        *begin,
        markdown.megabytes(one["peak_bytes"]),
        _times(results_lines.of_planned_peak(one)),
        f"{one['step_time_s']:.3f} s",
        _times(results_lines.of_planned_time(one) if budgeted else None),
        markdown.megabytes(one["swapped_out_bytes_per_step"]),
        one["recomputed_ops"],
        markdown.yes(one["weights_sha256"] == route["weights_sha256"]),
        verdict,
    ]


def trainings_table(networks):
    """Every training that was measured."""
    head = [
        *("network", "training", "budget", "of stock's peak", "peak"),
        *("expected / measured peak", "step", "planned / measured time"),
        *("moved out", "recomputed ops", "the route's weights", "targets"),
    ]
    rows = [
        _training_row(found, name)
        for found in networks
        for name in LINES
        if name in found["lines"] and results_lines.applies(name, found)
    ]
    return markdown.table(head, rows)


def missed(networks, names=tuple(LINES)):
    """The targets that are missed: (network, label of the line, what)."""
    return [
        (found["model"], LINES[name].label, problem)
        for found in networks
        for name in names
        for problem in results_lines.faults(name, found)
    ]


def _described(networks):
    """What was trained, and where."""
    routes = [
        found["lines"][ROUTE] for found in networks if ROUTE in found["lines"]
    ]

    def all_of(values):
        return " or ".join(sorted({str(value) for value in values})) or "-"

    return (
        f"Optimizer {all_of(found['optimizer'] for found in networks)}, "
        f"{all_of(found['steps'] for found in networks)} measured steps, "
        f"TensorFlow {all_of(one['tf_version'] for one in routes)}, "
        f"{all_of(one['cpus'] for one in routes)} CPU cores; the tier is host "
        "memory. Each training took turns with stock TensorFlow, step by step; "
        "ratios are medians over the turns."
    )


def section(networks):
    """All tables, with a sentence on each."""
    problems = missed(networks)
    end = (
        f"Missed targets:\n\n"
        f"{markdown.table(['network', 'training', 'missed'], problems)}"
        if problems
        else "All targets are met."
    )
    return "\n\n".join(
        [
            f"Written by `{_MADE_BY}`; its `--help` has the targets.",
            _described(networks),
            "## Without a budget",
            networks_table(networks),
            "## Step time / stock's",
            "The columns are budgets: parts of stock's peak, or the floor. A "
            "share below 1.05 of the floor is left out (-).",
            ratios_table(networks),
            "## Trainings",
            trainings_table(networks),
            end,
        ]
    )


def write(path, networks):
    """Writes the tables into a page, between its markers; makes it if need be.

    Args:
        path: Of the page.
        networks: Dictionaries; see `benchmarks.results_lines`.
    """
    if not path.exists():
        path.write_text(f"{_TITLE}\n\n{readme.BEGIN}\n{readme.END}\n")
    readme.update(path, section(networks))
