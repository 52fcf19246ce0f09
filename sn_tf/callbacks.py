# SPDX-License-Identifier: Apache-2.0
"""`MemoryBudget`: trains a Keras model within a budget."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from sn_tf.activation import Activation, open_session
from sn_tf.budget import Budget
from sn_tf.reports import reset_peak, stats
from sn_tf.session import Session, Settings
from sn_tf.state import move_out

_logger = logging.getLogger("sn_tf")

_Step = Callable[..., Any]
_Logs = dict[str, Any] | None
# Steps after which the callback looks for a plan to log: one that is made of
# what the first step measured exists after the second.
_STEPS_UNTIL_PLAN = 3
# Of a step that runs out of memory while it is measured, or whose inputs have
# grown: each time the next plan knows more.
_MOST_REPEATS = 4


class MemoryBudget(keras.callbacks.Callback):  # type: ignore[misc]
    """Keras callback: keeps `fit` inside a memory budget.

    Works in `fit` (with its validation), `evaluate` and `predict`. Management
    is on only while a step runs: after each step, and also after an error, the
    previous configuration and budget are back. `train_on_batch` calls no
    callbacks, and tf_keras (Keras 2) has others: use `sn_tf.scope` there.

    `jit_compile=True` compiles the step past the graph pass, so steps under
    this callback are built without it; the model's setting stays as it is.

    The plan is logged in one line to the logger "sn_tf", on the standard
    error stream unless the program has configured `logging`. Epoch and batch
    logs get `sn_tf/peak_bytes`: most bytes in use since training began (the
    callback resets the peak then).

    Args:
        budget: See `sn_tf.enable`. Defaults to `$SN_TF_BUDGET`, else
            `"auto"`.
        **options: See `sn_tf.enable`.

    Raises:
        TypeError: From `fit` of a tf_keras model.
        ValueError: See `sn_tf.enable`; when training begins, also if more
            than the budget is in use already or if the model was compiled
            with `run_eagerly=True`.
        InfeasibleBudgetError: From `fit`, before the step that would break
            the budget has written any weight.

    Example:
        >>> model.fit(x, y, callbacks=[sn_tf.MemoryBudget("4GB")])
    """

    # Keras may run the batch-end hook in a thread of its own.
    async_safe = True

    def __init__(self, budget: Budget | None = None, **options: Any) -> None:
        """Checks the settings."""
        super().__init__()
        self._settings = Settings.of(budget=budget, **options)
        self._session: Session | None = None
        self._in_fit = False
        self._steps_until_plan = 0
        # Per part of the trainer: its function under XLA, and without it.
        self._without_xla: dict[str, tuple[_Step, _Step]] = {}

    def on_train_begin(self, logs: _Logs = None) -> None:
        """Starts a session. Raises ValueError for what cannot be managed."""
        self._end()  # One that an error elsewhere left open.
        self._begin()
        self._in_fit = True
        self._steps_until_plan = _STEPS_UNTIL_PLAN
        reset_peak(self._settings.options.device)

    def on_train_batch_begin(self, batch: int, logs: _Logs = None) -> None:
        """Makes the training step that follows a managed one."""
        self._manage("train")

    def on_train_batch_end(self, batch: int, logs: _Logs = None) -> None:
        """Adds the peak to the logs."""
        self._add_peak(logs)

    def on_epoch_end(self, epoch: int, logs: _Logs = None) -> None:
        """Adds the peak to the logs."""
        self._add_peak(logs)

    def on_train_end(self, logs: _Logs = None) -> None:
        """Ends the session."""
        self._in_fit = False
        self._steps_until_plan = min(self._steps_until_plan, 1)
        self._after_step()
        _unmanage(self.model, "train")
        self._end()

    def on_test_begin(self, logs: _Logs = None) -> None:
        """Starts a session, unless this is the validation of `fit`."""
        self._begin()

    def on_test_batch_begin(self, batch: int, logs: _Logs = None) -> None:
        """Makes the evaluation step that follows a managed one."""
        self._manage("test")

    def on_test_end(self, logs: _Logs = None) -> None:
        """Ends the session, unless this is the validation of `fit`."""
        _unmanage(self.model, "test")
        if not self._in_fit:
            self._end()

    def on_predict_begin(self, logs: _Logs = None) -> None:
        """Starts a session."""
        self._begin()

    def on_predict_batch_begin(self, batch: int, logs: _Logs = None) -> None:
        """Makes the prediction step that follows a managed one."""
        self._manage("predict")

    def on_predict_end(self, logs: _Logs = None) -> None:
        """Ends the session."""
        _unmanage(self.model, "predict")
        if not self._in_fit:
            self._end()

    def _implements_train_batch_hooks(self) -> bool:
        """Called by tf_keras, when a training, a test or a prediction begins.

        It keeps the function of a test from before any hook, so that no
        callback can manage that.
        """
        raise TypeError(
            "sn_tf.MemoryBudget is a callback of Keras 3. Received: a model "
            "of tf_keras (Keras 2). Train it within sn_tf.scope(budget) "
            "instead: `with sn_tf.scope(budget): model.fit(...)`."
        )

    def _begin(self) -> None:
        if self.model.run_eagerly:
            raise ValueError(
                "sn_tf.MemoryBudget plans graphs, and a model compiled with "
                "run_eagerly=True runs without one. Received: run_eagerly="
                "True. Compile the model with run_eagerly=False, or train "
                "without the callback."
            )
        if self._session is None:
            self._session = open_session(self._settings)
            try:
                # The budget may be for less than all of it.
                move_out(_state_of(self.model), self._settings.options)
                # Whatever is wrong with the budget is told before training.
                with Activation(self._session):
                    pass
            except BaseException:
                self._end()
                raise

    def _end(self) -> None:
        self._in_fit = False
        session, self._session = self._session, None
        if session is not None:
            session.release()

    def _manage(self, part: str) -> None:
        """Puts a managed step in the place of the model's own.

        Done before each step, since another callback may have compiled the
        model or made its functions anew.
        """
        assert self._session is not None
        original = getattr(self.model, f"{part}_function")
        step = original
        while isinstance(step, _ManagedStep):
            if step.session is self._session:
                return
            step = step.inner
        inner = original
        if self.model.jit_compile and not isinstance(inner, _ManagedStep):
            inner = self._make_without_xla(part, original)
        managed = _ManagedStep(self._session, original, inner, self._after_step)
        setattr(self.model, f"{part}_function", managed)
        _unmanage_when_made_anew(self.model, part)

    def _make_without_xla(self, part: str, original: _Step) -> _Step:
        known = self._without_xla.get(part)
        if known is not None and known[0] is original:
            return known[1]
        if part == "train" or not self._in_fit:  # Once is enough.
            _log(
                "jit_compile=True cannot be managed: steps under MemoryBudget "
                "run without XLA"
            )
        model = self.model
        model.jit_compile = False
        try:
            getattr(model, f"make_{part}_function")(force=True)
            step: _Step = getattr(model, f"{part}_function")
        finally:
            model.jit_compile = True
            setattr(model, f"{part}_function", original)
        self._without_xla[part] = (original, step)
        return step

    def _after_step(self) -> None:
        """Logs the plan, once, when the first step has been measured."""
        if self._steps_until_plan == 0 or self._session is None:
            return
        self._steps_until_plan -= 1
        reports = self._session.reports()
        plans = [plan for plan in reports if plan.is_planned]
        if not plans:
            if self._steps_until_plan == 0:
                for report in reports:
                    _log(report.summary())
                if not reports:
                    _log(self._nothing_there())
            return
        # The training step; what else was planned is small beside it.
        largest = max(plans, key=lambda plan: plan.stock_peak_bytes)
        if self._steps_until_plan and self._session.expects_better(largest):
            return
        self._steps_until_plan = 0
        _log(largest.summary())

    def _nothing_there(self) -> str:
        device = self._settings.options.device
        text = f"the step keeps next to nothing on {device}: nothing is planned"
        if device == "CPU:0":
            return text
        return (
            f"{text}. Build the model and call fit where ops are placed there, "
            f'as within tf.device("/device:{device}")'
        )

    def _add_peak(self, logs: _Logs) -> None:
        if logs is not None:
            device = self._settings.options.device
            logs["sn_tf/peak_bytes"] = stats(device).peak_bytes


class _ManagedStep:
    """A function of a Keras trainer, run with a session active."""

    def __init__(
        self,
        session: Session,
        original: _Step,
        inner: _Step,
        after_step: Callable[[], None],
    ) -> None:
        """Keeps `original`, to be put back, and `inner`, to be called."""
        self.session = session
        self.original = original
        self.inner = inner
        self._after_step = after_step

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for _ in range(_MOST_REPEATS):
            try:
                return self._run(*args, **kwargs)
            except tf.errors.OpError:
                if not self.session.repeat_step():
                    raise
                _log("a step had no room, and is repeated with another plan")
        return self._run(*args, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        with Activation(self.session):
            result = self.inner(*args, **kwargs)
        self._after_step()
        return result


def _state_of(model: Any) -> list[Any]:
    """The variables of the model's optimizer, as far as they are made."""
    optimizer = getattr(model, "optimizer", None)
    return list(getattr(optimizer, "variables", ()))


def _unmanage(model: Any, part: str) -> None:
    """Puts the model's own function back, where it was managed."""
    step = getattr(model, f"{part}_function")
    if isinstance(step, _ManagedStep):
        while isinstance(step, _ManagedStep):
            step = step.original
        setattr(model, f"{part}_function", step)
        # The class's method shows again.
        delattr(model, f"make_{part}_function")


def _unmanage_when_made_anew(model: Any, part: str) -> None:
    """Lets no managed step live on into a `fit` without the callback.

    Keras calls no hook when `fit` ends by an error, but `fit`, `evaluate`,
    `predict` and `train_on_batch` all begin with `make_..._function`.
    """
    name = f"make_{part}_function"
    if name in vars(model):
        return
    make = getattr(model, name)

    def unmanage_and_make(*args: Any, **kwargs: Any) -> Any:
        _unmanage(model, part)
        return make(*args, **kwargs)

    setattr(model, name, unmanage_and_make)


def _log(message: str) -> None:
    """Logs so that a program which has not configured logging shows it."""
    if _logger.level == logging.NOTSET:
        _logger.setLevel(logging.INFO)
    if not _logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        _logger.addHandler(handler)
    _logger.info(message)
