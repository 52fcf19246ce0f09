# SPDX-License-Identifier: Apache-2.0
"""Errors of sn_tf that callers may want to catch by name."""

from __future__ import annotations

# The C++ side starts the message of the step that it fails with this.
INFEASIBLE_MARKER = "sn_tf: infeasible budget"


class InfeasibleBudgetError(RuntimeError):
    """No plan keeps the training inside the budget.

    Raised before the step that would break the budget writes any weight, so
    the model is as it was after the last completed step.

    Attributes:
        budget_bytes: The budget that was asked for.
        min_budget_bytes: The smallest budget for which a plan exists.
        limiting_op: The op whose inputs, outputs and workspace set that
            minimum.
    """

    def __init__(
        self, *, budget_bytes: int, min_budget_bytes: int, limiting_op: str
    ) -> None:
        """Keeps the numbers and composes the message from them."""
        super().__init__(
            f"No plan fits in a budget of {budget_bytes} bytes: the smallest "
            f"feasible budget is {min_budget_bytes} bytes, set by op "
            f"{limiting_op!r}. Raise the budget to at least that, or make "
            "the op's tensors smaller (a smaller batch)."
        )
        self.budget_bytes = budget_bytes
        self.min_budget_bytes = min_budget_bytes
        self.limiting_op = limiting_op

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles by keyword: the constructor takes no positional ones."""
        return (
            _rebuild,
            (self.budget_bytes, self.min_budget_bytes, self.limiting_op),
        )


def _rebuild(
    budget_bytes: int, min_budget_bytes: int, limiting_op: str
) -> InfeasibleBudgetError:
    return InfeasibleBudgetError(
        budget_bytes=budget_bytes,
        min_budget_bytes=min_budget_bytes,
        limiting_op=limiting_op,
    )
