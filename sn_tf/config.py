# SPDX-License-Identifier: Apache-2.0
"""Switching management on and off: for a thread, a block, a v1 session."""

from __future__ import annotations

import atexit
import threading
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

import tensorflow as tf

from sn_tf.activation import (
    Activation,
    check_agreement,
    latest_sessions,
    open_session,
)
from sn_tf.budget import Budget
from sn_tf.reports import PlanReport
from sn_tf.session import Settings

# Activations of `session_config`, which no thread owns.
_v1_activations: list[Activation] = []
_thread = threading.local()


class _Scope:
    """What `scope` returns; it may be entered again, also inside itself."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._entered: list[Activation] = []

    def __enter__(self) -> None:
        """Activates the settings for this thread."""
        self._entered.append(_start(self._settings, of_thread=True))

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Puts the previous configuration back, whatever happened inside."""
        activation = self._entered.pop()
        try:
            activation.__exit__(error_type, error, traceback)
        finally:
            activation.session.release()


def scope(
    budget: Budget | None = None, **options: Any
) -> AbstractContextManager[None]:
    """Context manager: trains the functions called inside within a budget.

    For custom loops over a `tf.function` and for `train_on_batch`; nested
    scopes must agree. Calls of functions by other threads are not planned,
    but share the budget.

    Args:
        budget: See `enable`. Defaults to `$SN_TF_BUDGET`, else `"auto"`.
        **options: See `enable`.

    Returns:
        A context manager without a value.

    Raises:
        ValueError: See `enable`.
        InfeasibleBudgetError: On leaving, if no plan fits and the step was
            stopped for it, before it wrote any weight.

    Example:
        >>> with sn_tf.scope("4GB"):
        ...     for batch in dataset:
        ...         train_step(batch)
    """
    return _Scope(Settings.of(budget=budget, **options))


def enable(
    budget: Budget | None = None,
    *,
    policy: str | None = None,
    tiers: str | None = None,
    swap_dir: str | None = None,
    batch_size: int | None = None,
    device: str | None = None,
    report_dir: str | None = None,
    cache: str | None = None,
    **unknown: Any,
) -> None:
    """Trains whatever this thread calls within a budget, until `disable()`.

    Applies to every `tf.function` (Keras' training step is one) that this
    thread calls from now on; other threads share the budget, but their
    functions are not planned. Calling it again with the same settings does
    nothing.

    Each argument that is not given is read from the environment variable
    named with it.

    Args:
        budget: Most memory that TensorFlow may have allocated on the device:
            weights, optimizer state, activations, gradients and workspaces.
            Bytes; a string such as `"4GB"` (10^9 bytes each), `"800MiB"`
            (2^20 bytes each) or `"60%"` (of the machine's memory, or of the
            cgroup's limit); or `"auto"`: all that is available now. Defaults
            to `$SN_TF_BUDGET`, else `"auto"`.
        policy: `"auto"`: what adds the least time; `"liveness"`: fix the
            order of ops and move nothing; `"swap"`: as `"auto"`, but recompute
            nothing. Those of vDNN (arXiv 1602.08124), for comparison:
            `"vdnn_all"`: all that is idle may leave, whatever the budget;
            `"vdnn_conv"`: of that only the inputs of convolutions;
            `"vdnn_dyn"`: nothing, or what `"vdnn_conv"` moves, or what
            `"vdnn_all"` moves: the first that meets the budget. Those of
            SuperNeurons (arXiv 1801.04380, 3.4), for the same, whatever the
            budget: what lies between two convolutions, matrix products or
            joins is computed anew, `"speed_centric"`: once, `"memory_centric"`:
            for each op that needs it, `"cost_aware"`: once where that takes no
            more than the largest layer; `"superneurons"`: as that, and the
            rest may leave. Defaults to `$SN_TF_POLICY`, else `"auto"`.
        tiers: Where buffers may be moved: a list of `"host"`, `"compressed"`
            and `"file"` in the order in which they are filled, each with a
            size or without, such as `"host:2GB,file:20GB"`; `"none"`
            (recomputation only); or `"auto"`: files on the CPU, whose own
            memory is the one to save, pinned host memory and then files on
            accelerators. Defaults to `$SN_TF_TIERS`, else `"auto"`.
        swap_dir: Existing, writable folder of the file tier, on a disk.
            Defaults to `$SN_TF_SWAP_DIR`, else the system's folders for
            temporary files.
        batch_size: Size for which to plan an unknown batch dimension, so that
            the first step is planned already. Defaults to
            `$SN_TF_BATCH_SIZE`, else None: the first step is measured and the
            plan follows.
        device: Device whose memory is managed. Defaults to `$SN_TF_DEVICE`,
            else `"CPU:0"`. For several devices call it (or enter a scope, or
            add a callback) once for each.
        report_dir: Folder that gets one JSON and one markdown file per planned
            function, and the graph that was planned as JSON, when plans change
            and at the end. Defaults to `$SN_TF_REPORT_DIR`, else None.
        cache: The tensor cache (SuperNeurons, 3.3.2). `"on"`: what a plan may
            move but need not stays until memory is needed, as in a first step,
            before anything is measured; `"off"`: it moves at once. Defaults to
            `$SN_TF_CACHE`, else `"on"`.
        **unknown: Refused.

    Raises:
        ValueError: If an argument is unknown or its value not accepted, if
            more than the budget is in use already, or if other settings are
            active.

    Example:
        >>> sn_tf.enable("4GB")
        >>> for x, y in batches:
        ...     model.train_on_batch(x, y)
        >>> sn_tf.disable()
    """
    settings = Settings.of(
        budget=budget,
        policy=policy,
        tiers=tiers,
        swap_dir=swap_dir,
        batch_size=batch_size,
        device=device,
        report_dir=report_dir,
        cache=cache,
        **unknown,
    )
    enabled = _enabled()
    if settings.options.device in enabled:
        check_agreement(settings)
        return
    enabled[settings.options.device] = _start(settings, of_thread=True)


def disable() -> None:
    """Ends what `enable()` of this thread and `session_config()` started.

    The configuration and the budget are then what they were before. Does
    nothing where neither was called.
    """
    enabled = _enabled()
    ending = []
    while enabled:  # The last one first: each puts back what it found.
        ending.append(enabled.popitem()[1])
    while _v1_activations:
        ending.append(_v1_activations.pop())
    for activation in ending:
        activation.stop()
        activation.session.release()


def session_config(
    budget: Budget | None = None,
    *,
    base: Any = None,
    **options: Any,
) -> Any:
    """A configuration for `tf.compat.v1.Session` that plans for a budget.

    A v1 session keeps its configuration, so a graph with an unknown batch
    dimension needs `batch_size` to be planned. The budget of the arena holds
    from this call until `disable()`.

    Args:
        budget: See `enable`. Defaults to `$SN_TF_BUDGET`, else `"auto"`.
        base: `tf.compat.v1.ConfigProto` to extend; it is not changed.
            Defaults to None: an empty one.
        **options: See `enable`.

    Returns:
        A `tf.compat.v1.ConfigProto`.

    Raises:
        ValueError: See `enable`.

    Example:
        >>> config = sn_tf.session_config("4GB", batch_size=32)
        >>> with tf.compat.v1.Session(config=config) as session:
        ...     session.run(train_op, feed_dict={images: batch})
        >>> sn_tf.disable()
    """
    config = tf.compat.v1.ConfigProto()
    if base is not None and not isinstance(base, tf.compat.v1.ConfigProto):
        raise ValueError(
            f"Invalid value for argument `base`. Received: base={base!r}. "
            "Expected a tf.compat.v1.ConfigProto."
        )
    if base is not None:
        config.CopyFrom(base)
    activation = _start(Settings.of(budget=budget, **options), of_thread=False)
    _v1_activations.append(activation)
    activation.session.add_pass(config, generation=0)
    return config


def report() -> list[PlanReport]:
    """Plans of what is active, or of what was active last.

    Returns:
        The latest report of each planned function, oldest first, and device;
        an empty list where nothing was planned.

    Example:
        >>> for plan in sn_tf.report():
        ...     print(plan.summary())
    """
    return [plan for session in latest_sessions() for plan in session.reports()]


def _enabled() -> dict[str, Activation]:
    """What `enable` started in this thread, by device."""
    if not hasattr(_thread, "enabled"):
        _thread.enabled = {}
    enabled: dict[str, Activation] = _thread.enabled
    return enabled


def _start(settings: Settings, *, of_thread: bool) -> Activation:
    session = open_session(settings)
    activation = Activation(session, of_thread=of_thread)
    try:
        activation.start()
    except BaseException:
        session.release()
        raise
    return activation


# Reports are written also where a script ends without `disable()`.
atexit.register(disable)
