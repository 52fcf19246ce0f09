# SPDX-License-Identifier: Apache-2.0
"""Measures peaks, step times and weights, with and without a budget."""

# Steps that no measurement counts: one is traced, the next is of the new plan,
# two are timed, and the fifth may be of a plan made from the times.
WARM_UP_STEPS = 5
TIMED_STEPS = slice(2, 4)
