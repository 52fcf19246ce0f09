# SPDX-License-Identifier: Apache-2.0
"""What commands print: progress, and what they found."""

import json
import sys


def progress(text):
    """Tells people how far it is; results go to standard output."""
    print(text, file=sys.stderr, flush=True)


def print_found(found, *, as_json):
    """Prints a dictionary, for people a field a line."""
    if as_json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name}: {value}")


def print_lines(lines, table, options, title=None):
    """Prints measurements, each with its "faults".

    Args:
        lines: Dictionaries.
        table: Makes a markdown table of them.
        options: With `json`, they are printed as JSON.
        title: Stands above the table.

    Returns:
        The exit status: 1 where one has faults.
    """
    if options.json:
        print(json.dumps(lines))
    else:
        print(f"{title}\n\n{table(lines)}" if title else table(lines))
    return 1 if any(line["faults"] for line in lines) else 0
