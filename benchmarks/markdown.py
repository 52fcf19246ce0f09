# SPDX-License-Identifier: Apache-2.0
"""Markdown tables of measurements."""


def table(head, rows):
    """Returns a table; `head` and each row are what the cells hold."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def megabytes(count):
    """A size for people; "-" where there is none."""
    return "-" if count is None else f"{count / 1e6:.1f} MB"


def yes(value):
    """ "yes" or "no"."""
    return "yes" if value else "no"
