# SPDX-License-Identifier: Apache-2.0
"""`MemoryBudget`: what it does to a model and its training, and undoes."""

from __future__ import annotations

import logging
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import sn_tf
from sn_tf import _library

_X = np.linspace(-1.0, 1.0, 40 * 8, dtype=np.float32).reshape(40, 8)
_Y = _X.sum(axis=1, keepdims=True)


# Wide enough that its graph is worth planning.
_WIDE = 8192


def _model(width: int = 4, **compile_options: Any) -> keras.Model:
    keras.utils.set_random_seed(3)
    model = keras.Sequential(
        [keras.Input((8,)), keras.layers.Dense(width), keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse", **compile_options)
    return model


def _fit(model: keras.Model, *callbacks: Any, **options: Any) -> Any:
    return model.fit(
        _X, _Y, batch_size=16, callbacks=list(callbacks), verbose=0, **options
    )


class _Watch(keras.callbacks.Callback):  # type: ignore[misc]
    """Records what is on between steps."""

    def __init__(self) -> None:
        super().__init__()
        self.between_steps: list[tuple[bool, int]] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.between_steps.append(
            (_library.is_managed(), sn_tf.stats().budget_bytes)
        )


class _Fail(keras.callbacks.Callback):  # type: ignore[misc]
    """Ends the training by an error of its own."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        raise KeyError("the other callback's")


@pytest.fixture
def managed_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The arena's budget at each start of management of this thread."""
    calls: list[int] = []
    install = _library.install_call_options

    def record(managed_config: Any) -> Any:
        calls.append(sn_tf.stats().budget_bytes)
        return install(managed_config)

    monkeypatch.setattr(_library, "install_call_options", record)
    return calls


def test_steps_are_managed_and_the_time_between_is_not(
    managed_calls: list[int],
) -> None:
    model, watch = _model(), _Watch()
    _fit(model, sn_tf.MemoryBudget("1GB"), watch, validation_data=(_X, _Y))
    # A check at the beginning, 3 steps of training, 3 of validation (the last
    # ones partial).
    assert managed_calls == [10**9] * 7
    assert watch.between_steps == [(False, 0)] * 3


def test_the_model_is_as_it_was() -> None:
    model = _model()
    _fit(model, validation_data=(_X, _Y))
    attributes, step = set(vars(model)), model.train_function
    _fit(model, sn_tf.MemoryBudget("1GB"), validation_data=(_X, _Y))
    assert model.train_function is step
    assert set(vars(model)) == attributes


def test_a_model_of_keras_2_is_refused_and_trains_in_a_scope(
    managed_calls: list[int],
) -> None:
    import tf_keras

    model = tf_keras.Sequential(
        [tf_keras.Input((8,)), tf_keras.layers.Dense(4)]
    )
    model.compile("sgd", "mse")
    with pytest.raises(TypeError, match=r"with sn_tf\.scope\(budget\)"):
        _fit(model, sn_tf.MemoryBudget("1GB"))
    assert int(model.optimizer.iterations) == 0
    with sn_tf.scope("1GB"):
        _fit(model, validation_data=(_X, _Y))
    assert managed_calls == [10**9]
    assert int(model.optimizer.iterations) == 3


def test_evaluate_and_predict_are_managed(managed_calls: list[int]) -> None:
    model, callback = _model(), sn_tf.MemoryBudget("1GB")
    model.evaluate(_X, _Y, batch_size=20, verbose=0, callbacks=[callback])
    assert len(managed_calls) == 3
    model.predict(_X, batch_size=20, verbose=0, callbacks=[callback])
    assert len(managed_calls) == 6
    assert not any(name.startswith("make_") for name in vars(model))


def test_a_failed_fit_leaves_nothing_to_the_next(
    managed_calls: list[int],
) -> None:
    model = _model()
    with pytest.raises(KeyError):
        _fit(model, sn_tf.MemoryBudget("1GB"), _Fail())
    assert not _library.is_managed()
    assert sn_tf.stats().budget_bytes == 0
    managed_calls.clear()
    _fit(model, validation_data=(_X, _Y))
    model.train_on_batch(_X, _Y)
    assert managed_calls == []
    # And another budget can be used at once.
    _fit(model, sn_tf.MemoryBudget("2GB"))
    assert managed_calls == [2 * 10**9] * 4


def test_a_failed_step_restores_too() -> None:
    batches = tf.data.Dataset.from_tensor_slices((_X * np.inf, _Y)).map(
        lambda x, y: (tf.debugging.check_numerics(x, "not finite"), y)
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
        _model().fit(
            batches.batch(16), callbacks=[sn_tf.MemoryBudget("1GB")], verbose=0
        )
    assert not _library.is_managed()
    assert sn_tf.stats().budget_bytes == 0


def test_functions_made_anew_in_training_are_managed(
    managed_calls: list[int],
) -> None:
    class Rebuild(keras.callbacks.Callback):  # type: ignore[misc]
        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.model.make_train_function(force=True)

    _fit(_model(), sn_tf.MemoryBudget("1GB"), Rebuild(), epochs=2)
    assert len(managed_calls) == 1 + 2 * 3


def test_xla_is_off_for_the_training_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = _model(_WIDE, jit_compile=True)
    _fit(model)
    compiled = model.train_function
    caplog.clear()
    with caplog.at_level(logging.INFO, "sn_tf"):
        _fit(model, sn_tf.MemoryBudget("1GB"), validation_data=(_X, _Y))
    lines = [line for line in caplog.messages if "jit_compile" in line]
    assert len(lines) == 1
    assert model.jit_compile is True
    assert model.train_function is compiled
    # The pass saw a graph that XLA would have taken.
    assert sn_tf.report() != []


def test_run_eagerly_is_refused_before_training() -> None:
    model = _model(run_eagerly=True)
    before = model.get_weights()
    with pytest.raises(ValueError, match=r"run_eagerly=True.*run_eagerly=F"):
        _fit(model, sn_tf.MemoryBudget("1GB"))
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_bad_settings_are_refused_where_the_callback_is_made() -> None:
    with pytest.raises(ValueError, match="4 potatoes"):
        sn_tf.MemoryBudget("4 potatoes")
    with pytest.raises(ValueError, match="budgets"):
        sn_tf.MemoryBudget(budgets="1GB")


def test_two_callbacks_or_a_scope_must_agree() -> None:
    with pytest.raises(ValueError, match="disagree"):
        _fit(_model(), sn_tf.MemoryBudget("1GB"), sn_tf.MemoryBudget("2GB"))
    with (
        sn_tf.scope("2GB"),
        pytest.raises(ValueError, match="disagree"),
    ):
        _fit(_model(), sn_tf.MemoryBudget("1GB"))
    _fit(_model(), sn_tf.MemoryBudget("1GB"), sn_tf.MemoryBudget("1GB"))
    with sn_tf.scope("1GB"):
        _fit(_model(), sn_tf.MemoryBudget("1GB"))


def test_a_budget_below_what_is_in_use_is_refused_before_training() -> None:
    kept = tf.zeros([1_000_000])
    model = _model()
    with pytest.raises(ValueError, match=r"1000000 bytes is below the \d+"):
        _fit(model, sn_tf.MemoryBudget("1MB"))
    assert int(model.optimizer.iterations) == 0
    assert kept.shape == [1_000_000]


def test_the_peak_is_in_the_logs() -> None:
    history = _fit(_model(), sn_tf.MemoryBudget("1GB"), epochs=2).history
    peaks = history["sn_tf/peak_bytes"]
    assert len(peaks) == 2
    assert 0 < peaks[0] <= peaks[1] <= sn_tf.stats().peak_bytes


def test_the_plan_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "sn_tf"):
        _fit(_model(_WIDE), sn_tf.MemoryBudget("1GB"), epochs=2)
    lines = [line for line in caplog.messages if "planned peak" in line]
    assert len(lines) == 1
    assert lines[0].startswith("budget 1.0 GB, stock peak")


class _LargeBranch(keras.layers.Layer):  # type: ignore[misc]
    """A conditional too large to plan around before it was taken once."""

    def call(self, x: Any) -> Any:
        return tf.cond(
            tf.reduce_sum(x) > 0,
            lambda: tf.exp(tf.broadcast_to(x[:, :1], [8, 2**20])),
            lambda: tf.zeros([8, 2**20]),
        )[:, :4]


def test_what_is_not_planned_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = keras.Sequential(
        [keras.Input((4,)), _LargeBranch(), keras.layers.Dense(4)]
    )
    model.compile("sgd", "mse")
    x, y = np.zeros((8, 4), "float32"), np.zeros((8, 4), "float32")
    with caplog.at_level(logging.INFO, "sn_tf"):
        model.fit(x, y, verbose=0, callbacks=[sn_tf.MemoryBudget("1GB")])
    (line,) = [line for line in caplog.messages if "runs as it is" in line]
    assert "control flow" in line


def test_fixing_the_route_alone_says_what_it_needs() -> None:
    model = _model(_WIDE)
    budget = sn_tf.MemoryBudget(
        sn_tf.stats().in_use_bytes + 500_000, policy="liveness"
    )
    with pytest.raises(sn_tf.InfeasibleBudgetError) as error:
        _fit(model, budget)
    assert error.value.min_budget_bytes > error.value.budget_bytes


def test_fixing_the_route_alone_waits_for_the_sizes() -> None:
    model = _model(_WIDE)
    budget = sn_tf.stats().in_use_bytes + 40_000_000
    _fit(model, sn_tf.MemoryBudget(budget, policy="liveness"))
    (plan,) = [plan for plan in sn_tf.report() if plan.is_planned]
    assert plan.feasible
