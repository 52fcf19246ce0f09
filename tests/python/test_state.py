# SPDX-License-Identifier: Apache-2.0
"""Optimizer state that is out of the device's memory but for its use."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import sn_tf

_SIDE = 512
_LAYERS = 6
# Of the weights of a layer, and of each of its slots.
_LAYER_BYTES = 4 * _SIDE**2
_WEIGHT_BYTES = _LAYERS * _LAYER_BYTES
_BATCH = 32
_X = np.random.default_rng(0).standard_normal((4 * _BATCH, _SIDE), np.float32)
_Y = np.arange(len(_X)) % 10

_OPTIMIZERS: dict[str, Callable[[], keras.optimizers.Optimizer]] = {
    "adam": lambda: keras.optimizers.Adam(0.001),
    "momentum": lambda: keras.optimizers.SGD(0.01, momentum=0.9),
}

_Values = Sequence[np.ndarray[Any, Any]]


def _model(optimizer: str, **compile_options: Any) -> keras.Model:
    keras.utils.set_random_seed(1)
    layers = [keras.Input((_SIDE,))]
    for _ in range(_LAYERS):
        layers.append(keras.layers.Dense(_SIDE, "tanh"))
    model = keras.Sequential([*layers, keras.layers.Dense(10)])
    model.compile(
        _OPTIMIZERS[optimizer](),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
        **compile_options,
    )
    return model


def _values(model: keras.Model) -> _Values:
    """Weights and the optimizer's variables."""
    variables = [*model.variables, *model.optimizer.variables]
    # Copies: arrays of TensorFlow refer to the variables' memory.
    return [variable.numpy().copy() for variable in variables]


def _equal(ours: _Values, reference: _Values) -> bool:
    return len(ours) == len(reference) and all(
        mine.tobytes() == wanted.tobytes()
        for mine, wanted in zip(ours, reference, strict=True)
    )


def _in_use() -> int:
    gc.collect()
    return sn_tf.stats().in_use_bytes


def _fit(
    model: keras.Model, budget: int, *callbacks: Any, **options: Any
) -> sn_tf.PlanReport:
    """Trains two epochs within `budget` bytes; the plan of the step."""
    callback = sn_tf.MemoryBudget(budget, **options)
    model.fit(
        *(_X, _Y),
        batch_size=_BATCH,
        epochs=2,
        shuffle=False,
        verbose=0,
        callbacks=[callback, *callbacks],
    )
    return max(sn_tf.report(), key=lambda one: one.stock_peak_bytes)


def _reference(optimizer: str, **compile_options: Any) -> _Values:
    model = _model(optimizer, **compile_options)
    _fit(model, 8 * 10**9, policy="liveness")
    values = _values(model)
    del model
    keras.backend.clear_session()
    return values


def _tight(before: int, optimizer: str) -> int:
    """A budget below weights and slots together."""
    slots = 2 if optimizer == "adam" else 1
    resident = (1 + slots) * _WEIGHT_BYTES
    budget = before + _WEIGHT_BYTES + (4 + 2 * slots) * _LAYER_BYTES
    assert optimizer != "adam" or budget < before + resident
    return budget


class _Outside(keras.callbacks.Callback):  # type: ignore[misc]
    """Notes what is out between steps."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes: list[int] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.bytes.append(sn_tf.stats().state_outside_bytes)


def _build(model: keras.Model) -> None:
    """Makes the slots; else the first step does, within the budget."""
    model.optimizer.build(model.trainable_variables)


@pytest.mark.alone
@pytest.mark.parametrize("tiers", ["host", "file"])
@pytest.mark.parametrize("built", [False, True])
def test_adam_trains_in_less_than_its_state_takes(
    tiers: str, built: bool
) -> None:
    reference = _reference("adam")
    before = _in_use()
    budget = _tight(before, "adam")
    model, outside = _model("adam"), _Outside()
    if built:
        _build(model)
        assert _in_use() > budget
    plan = _fit(model, budget, outside, tiers=tiers)
    assert sn_tf.stats().peak_bytes <= budget
    assert plan.feasible
    assert plan.state_bytes > _WEIGHT_BYTES
    states = [one for one in plan.actions if one.action == "state"]
    assert sum(one.bytes for one in states) == plan.state_bytes
    assert len(states) == plan.state_buffers
    assert min(outside.bytes) > _WEIGHT_BYTES
    assert _equal(_values(model), reference)
    # What is written without a budget is in the arena again.
    model.fit(_X, _Y, batch_size=_BATCH, verbose=0)
    assert sn_tf.stats().state_outside_bytes == 0
    assert all(tier.stored_bytes == 0 for tier in sn_tf.stats().tiers)


@pytest.mark.alone
def test_what_is_no_memory_is_no_place_for_variables() -> None:
    budget = _tight(_in_use(), "adam")
    model = _model("adam")
    _build(model)
    with pytest.raises(ValueError, match="below the"):
        _fit(model, budget, tiers="compressed")


@pytest.mark.alone
def test_momentum_moves_where_no_plan_does_without() -> None:
    reference = _reference("momentum")
    before = _in_use()
    # Room for weights and slots, and not for much beside them.
    budget = before + 2 * _WEIGHT_BYTES + _LAYER_BYTES
    model = _model("momentum")
    _build(model)
    initial = _values(model)
    with pytest.raises(sn_tf.InfeasibleBudgetError):
        _fit(model, budget, tiers="compressed")
    assert _equal(_values(model), initial)
    plan = _fit(model, budget, tiers="host")
    assert sn_tf.stats().peak_bytes <= budget
    assert plan.feasible
    assert plan.state_buffers > 0
    assert _equal(_values(model), reference)


def test_nothing_moves_where_there_is_room() -> None:
    model, outside = _model("adam"), _Outside()
    plan = _fit(model, 8 * 10**9, outside, tiers="host")
    assert plan.state_buffers == 0
    assert set(outside.bytes) == {0}


class _Reads(keras.callbacks.Callback):  # type: ignore[misc]
    """Between steps, reads all there is, saves, and assigns."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.seen: list[_Values] = []
        self.restored: _Values = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.seen.append(_values(self.model))
        slots = self.model.optimizer.variables
        if len(self.seen) == 3:
            self.model.save_weights(self._folder / "state.weights.h5")
            checkpoint = tf.train.Checkpoint(
                **{f"slot{k}": one.value for k, one in enumerate(slots)}
            )
            path = checkpoint.save(str(self._folder / "checkpoint"))
            self.restored = [
                tf.train.load_checkpoint(path).get_tensor(name).copy()
                for name, _ in tf.train.list_variables(path)
                if "VARIABLE_VALUE" in name and "save_counter" not in name
            ]
        if len(self.seen) == 4:
            slots[2].assign(tf.zeros_like(slots[2].value))
            slots[3].value.assign_add(tf.ones_like(slots[3].value))


@pytest.mark.alone
@pytest.mark.parametrize("tiers", ["host", "file"])
def test_between_steps_variables_are_as_ever(
    tiers: str, tmp_path: Path
) -> None:
    def train(folder: Path, budget: int, **options: Any) -> tuple[Any, Any]:
        folder.mkdir()
        model, reads = _model("adam"), _Reads(folder)
        _fit(model, budget, reads, **options)
        return model, reads

    model, wanted = train(tmp_path / "all", 8 * 10**9, policy="liveness")
    reference = _values(model)
    del model
    wanted.set_model(None)
    keras.backend.clear_session()
    budget = _tight(_in_use(), "adam")
    model, ours = train(tmp_path / "tight", budget, tiers=tiers)
    for seen, expected in zip(ours.seen, wanted.seen, strict=True):
        assert _equal(seen, expected)
    assert _equal(ours.restored, wanted.restored)
    assert _equal(_values(model), reference)
    fresh = _model("adam")
    fresh.load_weights(tmp_path / "tight" / "state.weights.h5")
    assert _equal(
        [one.numpy() for one in fresh.variables],
        wanted.seen[2][: len(fresh.variables)],
    )


@pytest.mark.alone
def test_several_steps_per_execution() -> None:
    reference = _reference("adam", steps_per_execution=2)
    budget = _tight(_in_use(), "adam")
    model = _model("adam", steps_per_execution=2)
    plan = _fit(model, budget, tiers="host")
    assert plan.state_buffers > 0
    assert sn_tf.stats().peak_bytes <= budget
    assert _equal(_values(model), reference)


@pytest.mark.alone
def test_with_more_room_it_comes_back() -> None:
    reference = _reference("adam")
    budget = _tight(_in_use(), "adam")
    model, outside = _model("adam"), _Outside()
    for most in (budget, 8 * 10**9):
        model.fit(
            *(_X, _Y),
            batch_size=_BATCH,
            shuffle=False,
            verbose=0,
            callbacks=[sn_tf.MemoryBudget(most, tiers="host"), outside],
        )
    assert outside.bytes[0] > 0
    assert outside.bytes[-1] == 0
    assert _equal(_values(model), reference)
