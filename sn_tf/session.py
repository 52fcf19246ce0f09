# SPDX-License-Identifier: Apache-2.0
"""Sessions and their activation: what is switched, and how it is put back.

Two things are switched. A device's budget is of the whole process; the graph
pass is of the thread, through TensorFlow's function-call options. Whatever is
active for a device at one time must therefore agree on its settings. Each
device has a session of its own.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import tensorflow as tf

from sn_tf import _library
from sn_tf.errors import INFEASIBLE_MARKER, InfeasibleBudgetError
from sn_tf.oom import OomNotes
from sn_tf.options import Options, make_options
from sn_tf.reports import PlanReport, write_reports

# The pass's name in the library: cc/ops/names.h.
_PASS_NAME = "SuperNeurons"

_logger = logging.getLogger("sn_tf")
_lock = threading.RLock()
# Oldest first; those of a device agree.
_active: list[Activation] = []
# By device, what `sn_tf.report()` tells of.
_latest: dict[str, Session] = {}
# By device, the arena's budget before the first of the activations.
_budgets_before: dict[str, int] = {}


class _Thread(threading.local):
    """What manages the calls of a thread."""

    def __init__(self) -> None:
        # Oldest first; they may end in any order.
        self.activations: list[Activation] = []
        # The options before the first of them.
        self.before: Any = None

    def manage(self, activations: list[Activation]) -> None:
        """Lets the sessions of these, and no others, plan the calls."""
        if not activations:
            _library.restore_call_options(self.before)
            return
        # Each once, also where scopes that agree are nested.
        sessions = list(dict.fromkeys(one.session for one in activations))
        _library.install_call_options(
            functools.partial(_managed_config, sessions)
        )


_thread = _Thread()


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
        with _lock:
            self._users += 1

    def release(self) -> None:
        """Takes a user away, and closes the session after the last one."""
        if self._library.is_left_behind:
            return  # It is the parent's to close.
        with _lock:
            self._users -= 1
            if self._users > 0:
                return
            self._closed_reports = self.reports()
            self._write_reports()
            self._library.destroy_session(self._number)

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
        if self.settings.options.report_dir:
            write_reports(self.reports(), self.settings.options.report_dir)


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


def open_session(settings: Settings) -> Session:
    """The device's active session, or a new one where none is active.

    Raises:
        ValueError: If what is active disagrees with `settings`.
        RuntimeError: In a child forked after the first use.
    """
    _library.library().check_usable()
    with _lock:
        check_agreement(settings)
        active = _active_for(settings.options.device)
        if active:
            session = active[-1]
            session.retain()
        else:
            session = Session(settings)
        for device, latest in list(_latest.items()):
            if not latest.is_open:
                del _latest[device]
        _latest[session.device] = session
        return session


class Activation:
    """Makes a session's settings those of this thread, and undoes it.

    Context manager; also usable by its `start` and `stop`. Ctrl-C may interrupt
    either anywhere, so `stop` undoes whatever has been done, in any state.
    """

    def __init__(self, session: Session, *, of_thread: bool = True) -> None:
        """Prepares; nothing is active yet.

        Args:
            session: Session to activate; the caller keeps it open.
            of_thread: Whether this thread's function calls go through the
                pass. Defaults to True.
        """
        self.session = session
        self._of_thread = of_thread
        self._notes: OomNotes | None = None

    def start(self) -> None:
        """Sets the arena's budget and the thread's options.

        Raises:
            ValueError: If more than the budget is in use already, or if what
                is active disagrees.
            RuntimeError: In a child forked after the first use.
        """
        _library.library().check_usable()
        self._notes = OomNotes(self.session.device)
        with _lock:
            try:
                self._start()
            except BaseException:
                self.stop()
                raise

    def _start(self) -> None:
        session = self.session
        check_agreement(session.settings)
        is_first = not _active_for(session.device)
        if is_first:
            _budgets_before[session.device] = _budget(session)
        _active.append(self)
        if is_first:
            _set_budget(session)
        if self._of_thread:
            if not _thread.activations:
                _thread.before = _library.call_options()
            _thread.activations.append(self)
            _thread.manage(_thread.activations)

    def stop(self) -> None:
        """Undoes what `start` did. To be called by the same thread."""
        if self in _thread.activations:
            # Before it is forgotten: Ctrl-C may come in between.
            _thread.manage(
                [one for one in _thread.activations if one is not self]
            )
            _thread.activations.remove(self)
        if _library.library().is_left_behind:
            return  # The child's budget bounds nothing.
        device = self.session.device
        with _lock:
            if self in _active:
                _active.remove(self)
            if device in _budgets_before and not _active_for(device):
                _restore_budget(self.session, _budgets_before[device])
                del _budgets_before[device]

    def __enter__(self) -> Activation:
        """Calls `start`."""
        try:
            self.start()
            return self
        except BaseException:
            self.stop()
            raise

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Calls `stop`, and names the cause where that was the budget."""
        try:
            self.stop()
        except BaseException:
            self.stop()
            raise
        infeasible = self.session.translate(error)
        if self._notes is not None:
            self._notes.add_to(infeasible or error)
        if infeasible is not None:
            raise infeasible from error


def latest_sessions() -> list[Session]:
    """The session opened last, open or not, and others open since then."""
    with _lock:
        return list(_latest.values())


def check_agreement(settings: Settings) -> None:
    """Raises ValueError where the device's active settings are not those."""
    with _lock:
        for session in _active_for(settings.options.device):
            if not session.settings.agrees_with(settings):
                raise ValueError(
                    "Two settings of sn_tf cannot be active for one device at "
                    f"once, and these disagree: {session.settings} (active), "
                    f"{settings} (requested). Leave the active scope, or call "
                    "sn_tf.disable(), before you ask for other settings."
                )


def _active_for(device: str) -> list[Session]:
    return [
        activation.session
        for activation in _active
        if activation.session.device == device
    ]


def _managed_config(sessions: list[Session], unmanaged: bytes) -> bytes:
    """`unmanaged` with a pass for each session."""
    config = unmanaged
    for session in sessions:
        config = session.serialized_config(config)
    return config


def _key(plan: PlanReport) -> tuple[str, int]:
    return plan.function, plan.generation


def _budget(session: Session) -> int:
    return int(_library.library().stats(session.device)["budget_bytes"])


def _set_budget(session: Session) -> None:
    library = _library.library()
    options = session.settings.options
    in_use_bytes = library.stats(options.device)["in_use_bytes"]
    if in_use_bytes > options.budget_bytes:
        raise ValueError(
            f"The budget of {options.budget_bytes} bytes is below the "
            f"{in_use_bytes} bytes that TensorFlow has in use on "
            f"{options.device} already (weights, optimizer state, data). "
            "Raise the budget above that, or free tensors first."
        )
    library.set_budget(options.device, options.budget_bytes)


def _restore_budget(session: Session, budget_bytes: int) -> None:
    try:
        _library.library().set_budget(
            session.settings.options.device, budget_bytes
        )
    except ValueError as error:
        _logger.warning("The previous budget could not be set: %s", error)
