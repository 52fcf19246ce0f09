# SPDX-License-Identifier: Apache-2.0
"""Measures peaks, step times and weights, with and without a budget."""

# Steps that no measurement counts: tracing, and the new plan that follows the
# first measured step.
WARM_UP_STEPS = 2
