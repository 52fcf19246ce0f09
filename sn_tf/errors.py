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
        min_budget_bytes: The smallest budget for which a plan exists; where
            not `measured`, a budget below which none does.
        limiting_op: The op whose inputs, outputs and workspace set that
            minimum.
        measured: Whether a whole step was measured. Before that, ops may turn
            out to need more workspace than is known.
    """

    def __init__(
        self,
        *,
        budget_bytes: int,
        min_budget_bytes: int,
        limiting_op: str,
        measured: bool = True,
    ) -> None:
        """Keeps the numbers and composes the message from them."""
        smallest = f"{min_budget_bytes} bytes"
        if not measured:
            smallest = f"at least {smallest} (no whole step was measured yet)"
        super().__init__(
            f"No plan fits in a budget of {budget_bytes} bytes: the smallest "
            f"feasible budget is {smallest}, set by op {limiting_op!r}. Raise "
            "the budget to at least that, or make the op's tensors smaller (a "
            "smaller batch)."
        )
        self.budget_bytes = budget_bytes
        self.min_budget_bytes = min_budget_bytes
        self.limiting_op = limiting_op
        self.measured = measured

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles by keyword: the constructor takes no positional ones."""
        return _rebuild, (
            self.budget_bytes,
            self.min_budget_bytes,
            self.limiting_op,
            self.measured,
        )


def _rebuild(
    budget_bytes: int, min_budget_bytes: int, limiting_op: str, measured: bool
) -> InfeasibleBudgetError:
    return InfeasibleBudgetError(
        budget_bytes=budget_bytes,
        min_budget_bytes=min_budget_bytes,
        limiting_op=limiting_op,
        measured=measured,
    )
