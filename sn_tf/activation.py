# SPDX-License-Identifier: Apache-2.0
"""Activations: what is switched for a session, and how it is put back.

Two things are switched. A device's budget is of the whole process; the graph
pass is of the thread, through TensorFlow's function-call options. Whatever is
active for a device at one time must therefore agree on its settings. Each
device has a session of its own.
"""

from __future__ import annotations

import functools
import logging
import threading
from types import TracebackType
from typing import Any

from sn_tf import _library
from sn_tf.oom import OomNotes
from sn_tf.session import Session, Settings, lock

_logger = logging.getLogger("sn_tf")
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


def open_session(settings: Settings) -> Session:
    """The device's active session, or a new one where none is active.

    Raises:
        ValueError: If what is active disagrees with `settings`.
        RuntimeError: In a child forked after the first use.
    """
    _library.library().check_usable()
    with lock:
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
        with lock:
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
        with lock:
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
    with lock:
        return list(_latest.values())


def check_agreement(settings: Settings) -> None:
    """Raises ValueError where the device's active settings are not those."""
    with lock:
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
