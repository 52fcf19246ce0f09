# SPDX-License-Identifier: Apache-2.0
"""Measures peaks, step times and weights, with and without a budget."""
