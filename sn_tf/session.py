# SPDX-License-Identifier: Apache-2.0
"""Sessions: what was asked for, and the graphs that are planned for it."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from sn_tf import _library
from sn_tf.errors import INFEASIBLE_MARKER, InfeasibleBudgetError
from sn_tf.options import Options, make_options
from sn_tf.reports import PlanReport, write_graph, write_reports
from sn_tf.state import bring_back

# The pass's name in the library: cc/ops/names.h.
_PASS_NAME = "SuperNeurons"

# Of the users of all sessions.
lock = threading.RLock()


class Session:
    """The graphs planned under one set of settings, and their reports.

    Users take a session with `open_session` and give it back with `release`;
    the last one out closes it.
    """

    def __init__(self, settings: Settings) -> None:
        """Makes a session with one user."""
        self.settings = settings
        self._library = _library.library()
        self._number = self._library.create_session()
        self._users = 1
        self._closed_reports: list[PlanReport] | None = None
        # The last answer of `serialized_config`, after what it was for.
        self._config: tuple[int, bytes, bytes] | None = None
        # Keys of the infeasible plans that were raised.
        self._raised: set[tuple[str, int]] = set()

    @property
    def device(self) -> str:
        """The device whose memory is managed."""
        return self.settings.options.device

    @property
    def is_open(self) -> bool:
        """Whether it has users."""
        return self._users > 0

    def retain(self) -> None:
        """Adds a user."""
        with lock:
            self._users += 1

    def release(self) -> None:
        """Takes a user away, and closes the session after the last one."""
        if self._library.is_left_behind:
            return  # It is the parent's to close.
        with lock:
            self._users -= 1
            if self._users > 0:
                return
            self._write_reports()
            self._closed_reports = self.reports()
            self._library.destroy_session(self._number)
        bring_back(self.device)

    def reports(self) -> list[PlanReport]:
        """The latest report of each function, oldest first."""
        if self._closed_reports is not None:
            return self._closed_reports
        return [
            PlanReport.from_dict(values)
            for values in self._library.reports(self._number)
        ]

    def expects_better(self, plan: PlanReport) -> bool:
        """Whether the next call plans anew, from what a step measured."""
        return self._library.generation(self._number) > plan.generation

    def serialized_config(self, unmanaged: bytes) -> bytes:
        """`unmanaged` with the pass, set to the session's newest generation.

        Raises:
            InfeasibleBudgetError: If a plan was found infeasible meanwhile.
        """
        generation = self._library.generation(self._number)
        known = self._config
        if known is not None and known[:2] == (generation, unmanaged):
            return known[2]
        config = tf.compat.v1.ConfigProto.FromString(unmanaged)
        self.add_pass(config, generation)
        managed: bytes = config.SerializeToString(deterministic=True)
        self._config = (generation, unmanaged, managed)
        if generation > 0:
            self._write_reports()
            self._raise_infeasible()
        return managed

    def add_pass(self, config: Any, generation: int) -> None:
        """Adds the pass to `config`, a ConfigProto, in place."""
        options = dataclasses.replace(
            self.settings.options, session=self._number, generation=generation
        )
        rewrite = config.graph_options.rewrite_options
        # The pass plans in the last iteration, when the graph is final.
        rewrite.meta_optimizer_iterations = rewrite.TWO
        # Its accumulation of long sums adds in no fixed order, and would come
        # before the pass.
        rewrite.memory_optimization = rewrite.NO_MEM_OPT
        custom = rewrite.custom_optimizers.add(name=_PASS_NAME)
        for name, value in options.to_parameters().items():
            custom.parameter_map[name].s = value.encode()

    def translate(
        self, error: BaseException | None
    ) -> InfeasibleBudgetError | None:
        """The error to raise instead, where a step failed as infeasible."""
        # Ops that ran on in vain (cc/allocator/refusal_sink.h) may fail first,
        # of any cause.
        if not isinstance(error, tf.errors.OpError):
            return None
        self._library.step_failed(self._number)
        infeasible = [plan for plan in self.reports() if plan.is_infeasible]
        if INFEASIBLE_MARKER not in str(error):
            # Ops that write no state run beside the one that stops the step,
            # and may run out of memory first.
            infeasible = [
                plan for plan in infeasible if _key(plan) not in self._raised
            ]
        return self._error_of(infeasible[-1]) if infeasible else None

    def repeat_step(self) -> bool:
        """Whether to call a function again in which a step ran out of memory.

        True where the step had changed nothing and another plan may do. What
        it takes from its iterators is then what it took before.
        """
        return self._library.repeat_step(self._number)

    def _raise_infeasible(self) -> None:
        """Raises for an infeasible plan, once: a caller may shrink the step."""
        for plan in self.reports():
            if plan.is_infeasible and _key(plan) not in self._raised:
                raise self._error_of(plan)

    def _error_of(self, plan: PlanReport) -> InfeasibleBudgetError:
        self._raised.add(_key(plan))
        return InfeasibleBudgetError(
            budget_bytes=plan.budget_bytes,
            min_budget_bytes=plan.min_budget_bytes,
            limiting_op=plan.limiting_op,
            measured=plan.costs == "measured",
        )

    def _write_reports(self) -> None:
        folder = self.settings.options.report_dir
        if not folder:
            return
        plans = self.reports()
        write_reports(plans, folder)
        for plan in plans:
            graph = self._library.graph(self._number, plan.function)
            if graph is not None:
                write_graph(plan, graph, folder)


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a caller asked for, and the options that it came to."""

    requested: Mapping[str, Any]
    options: Options

    @classmethod
    def of(cls, **arguments: Any) -> Settings:
        """Checks the arguments; raises ValueError as `enable` documents."""
        return cls(
            {name: arg for name, arg in arguments.items() if arg is not None},
            make_options(arguments),
        )

    def agrees_with(self, other: Settings) -> bool:
        """Whether both ask for the same; two "auto" budgets do."""
        return (
            self.options == other.options or self.requested == other.requested
        )

    def __str__(self) -> str:
        """The options that are not at their defaults, and the budget."""
        default = Options()
        return ", ".join(
            f"{name}={value!r}"
            for name, value in dataclasses.asdict(self.options).items()
            if name == "budget_bytes" or value != getattr(default, name)
        )


def _key(plan: PlanReport) -> tuple[str, int]:
    return plan.function, plan.generation
