# SPDX-License-Identifier: Apache-2.0
"""Searches the largest of what passes, by doubling and then by bisection."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes:
        number: The largest number that passed; 0 where none did.
        is_largest: Whether the next one failed. If not, the search ended
            before, and the largest is at least `number`.
    """

    number: int
    is_largest: bool


def largest(passes, *, first, most, enough=None):
    """Searches the largest whole number for which `passes` is true.

    It doubles `first` until one fails, then halves what is left in between. All
    below a number that passes are taken to pass too.

    Args:
        passes: Called with a number from 1 to `most`; at most once for each.
        first: The number to begin with, at least 1.
        most: The largest number to ask for, at least 1.
        enough: Ends the search as soon as this number, or a larger one, has
            passed. Defaults to going on to the end.

    Returns:
        A `Found`.
    """
    low, high = 0, most + 1  # Passed; failed, or is not to be asked for.
    number = min(first, most)
    while high - low > 1:
        if passes(number):
            low = number
            if enough is not None and low >= enough:
                break
        else:
            high = number
        number = min(2 * low, most) if high > most else (low + high) // 2
    return Found(low, is_largest=high == low + 1 <= most)
