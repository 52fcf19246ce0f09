# SPDX-License-Identifier: Apache-2.0
"""Integer programmes: linear sums over variables, solved with HiGHS."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

# Relative, of numbers that should be the same.
_TOLERANCE = 1e-6


class Sum:
    """A linear sum: a constant, and variables with their factors."""

    __slots__ = ("constant", "terms")

    def __init__(
        self, terms: Mapping[int, float] | None = None, constant: float = 0.0
    ) -> None:
        """Makes the sum of `constant` and of variables times factors."""
        self.terms = dict(terms or {})
        self.constant = constant

    def __add__(self, other: Sum | float) -> Sum:
        """The sum of both."""
        result = Sum(self.terms, self.constant)
        if not isinstance(other, Sum):
            result.constant += other
            return result
        result.constant += other.constant
        for variable, factor in other.terms.items():
            result.terms[variable] = result.terms.get(variable, 0.0) + factor
        return result

    def __sub__(self, other: Sum | float) -> Sum:
        """The difference of both."""
        return self + other * -1.0

    def __mul__(self, factor: float) -> Sum:
        """The sum, times a number."""
        terms = {key: value * factor for key, value in self.terms.items()}
        return Sum(terms, self.constant * factor)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: float) -> Sum:
        """A number, less the sum."""
        return self * -1.0 + other

    def value(self, values: Mapping[int, float] | Any) -> float:
        """What it comes to where the variables have those values."""
        return self.constant + sum(
            factor * values[variable] for variable, factor in self.terms.items()
        )


def total(sums: Iterable[Sum | float]) -> Sum:
    """All of them added."""
    result = Sum()
    for one in sums:
        result = result + one
    return result


@dataclasses.dataclass(frozen=True)
class Solution:
    """What a programme came to.

    Attributes:
        values: Of the variables; None where no solution was found.
        objective: What was minimised, of these values; infinite without any.
        bound: What no solution is below, as far as was proved; infinite where
            it was proved that there is none.
    """

    values: Any
    objective: float
    bound: float

    @property
    def found(self) -> bool:
        """Whether there are values."""
        return self.values is not None


class Programme:
    """Variables, what is required of them, and a sum to minimise."""

    def __init__(self) -> None:
        """Makes an empty one."""
        self._upper: list[float] = []
        self._integer: list[bool] = []
        self._rows: list[Sum] = []
        self.objective = Sum()

    def number(self) -> Sum:
        """A new variable: any number from 0 on."""
        return self._variable(np.inf, False)

    def share(self) -> Sum:
        """A new variable: any number from 0 to 1."""
        return self._variable(1.0, False)

    def choice(self) -> Sum:
        """A new variable: 0 or 1."""
        return self._variable(1.0, True)

    def require(self, *sums: Sum) -> None:
        """Requires that each sum is not below 0."""
        self._rows += [one for one in sums if one.terms]
        for one in sums:
            if not one.terms and one.constant < 0:
                # No value of any variable helps.
                self._rows.append(Sum({}, one.constant))

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of variables and of rows."""
        return len(self._upper), len(self._rows)

    def solve(
        self,
        *,
        time_limit: float,
        absolute_gap: float,
        fixed: Mapping[int, float] | None = None,
    ) -> Solution:
        """Minimises the objective.

        HiGHS can be given values to begin from, but is not: release 1.16 takes
        some of them for better than they are, and then misses the best.

        Args:
            time_limit: Seconds after which the best values so far are taken.
            absolute_gap: Difference between objective and bound that counts
                as none.
            fixed: Values that some variables must have. Defaults to None.

        Raises:
            ImportError: If HiGHS is not installed.
            RuntimeError: If what it minimised is not what its values come to.
        """
        highs = _highs()
        with _stdout_to_stderr():
            solver = highs.Highs()  # The first one says who it is.
        for name, value in (
            ("output_flag", False),
            ("time_limit", float(time_limit)),
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", float(absolute_gap)),
            ("mip_feasibility_tolerance", 1e-7),
            ("random_seed", 0),
        ):
            solver.setOptionValue(name, value)
        solver.passModel(self._model(highs, fixed or {}))
        solver.run()
        return self._solution(highs, solver)

    def _variable(self, upper: float, integer: bool) -> Sum:
        self._upper.append(upper)
        self._integer.append(integer)
        return Sum({len(self._upper) - 1: 1.0})

    def _model(self, highs: Any, fixed: Mapping[int, float]) -> Any:
        model = highs.HighsLp()
        columns, rows = self.size
        model.num_col_, model.num_row_ = columns, rows
        costs = np.zeros(columns)
        for variable, factor in self.objective.terms.items():
            costs[variable] = factor
        model.col_cost_ = costs
        model.offset_ = self.objective.constant
        lower, upper = np.zeros(columns), np.array(self._upper)
        for variable, value in fixed.items():
            lower[variable] = upper[variable] = value
        model.col_lower_, model.col_upper_ = lower, upper
        model.row_lower_ = np.array([-row.constant for row in self._rows])
        model.row_upper_ = np.full(rows, np.inf)
        kinds = (highs.HighsVarType.kContinuous, highs.HighsVarType.kInteger)
        model.integrality_ = [kinds[integer] for integer in self._integer]
        matrix = model.a_matrix_
        matrix.format_ = highs.MatrixFormat.kRowwise
        ends = np.cumsum([0, *(len(row.terms) for row in self._rows)])
        matrix.start_ = ends.astype(np.int32)
        matrix.index_ = np.array(
            [key for row in self._rows for key in row.terms], dtype=np.int32
        )
        matrix.value_ = np.array(
            [factor for row in self._rows for factor in row.terms.values()],
            dtype=np.float64,
        )
        return model

    def _solution(self, highs: Any, solver: Any) -> Solution:
        status = solver.getModelStatus()
        none = highs.HighsModelStatus
        if status in (none.kInfeasible, none.kUnboundedOrInfeasible):
            return Solution(None, np.inf, np.inf)
        info = solver.getInfo()
        bound = float(info.mip_dual_bound)
        feasible = int(highs.SolutionStatus.kSolutionStatusFeasible)
        if int(info.primal_solution_status) != feasible:
            return Solution(None, np.inf, bound)
        values = np.array(solver.getSolution().col_value)
        objective = self.objective.value(values)
        off = abs(objective - info.objective_function_value)
        if off > _TOLERANCE * max(1.0, abs(objective)):
            raise RuntimeError(
                f"HiGHS {solver.version()} found "
                f"{info.objective_function_value}"
                f", but its values come to {objective}. Install another release"
                " of highspy."
            )
        return Solution(values, objective, bound)


def _highs() -> Any:
    try:
        return importlib.import_module("highspy")
    except ModuleNotFoundError as error:
        raise ImportError(
            "The optimal planner solves its programmes with HiGHS, which is "
            "not installed: no module named 'highspy'. Install it: pip install "
            "'sn-tf[optimal]', or pip install highspy."
        ) from error


@contextlib.contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Lets what the process prints go there, also what is not Python's."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
