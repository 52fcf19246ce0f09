# SPDX-License-Identifier: Apache-2.0
"""Switching management on, and what is left when it is off again."""

from __future__ import annotations

import copy
import dataclasses
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import sn_tf
from sn_tf import _library

_REPORT: dict[str, Any] = {
    "function": "step",
    "device": "CPU:0",
    "feasible": False,
    "policy": "auto",
    "budget_bytes": 100,
    "stock_peak_bytes": 900,
    "planned_peak_bytes": 300,
    "expected_peak_bytes": 300,
    "floor_bytes": 200,
    "resident_bytes": 50,
    "min_budget_bytes": 250,
    "limiting_op": "conv1/Conv2D",
    "added_seconds": 0.1,
    "recompute_seconds": 0.0,
    "stall_seconds": 0.0,
    "step_seconds": 1.0,
    "costs": "measured",
    "times": "estimated",
    "generation": 1,
    "swapped_bytes": 0,
    "swapped_buffers": 0,
    "recomputed_ops": 0,
    "state_bytes": 0,
    "state_buffers": 0,
    "ops": 120,
    "plan_seconds": 0.01,
    "reason": "",
    "actions": [],
}


def _call_config() -> tf.compat.v1.ConfigProto:
    """The configuration that a function call of this thread would get."""
    return tf.compat.v1.ConfigProto.FromString(
        context.context().function_call_options.config_proto_serialized
    )


def _parameters(config: tf.compat.v1.ConfigProto) -> dict[str, str]:
    """The pass's options in `config`; none where the pass is not there."""
    found = {}
    for custom in config.graph_options.rewrite_options.custom_optimizers:
        assert custom.name == "SuperNeurons"
        found.update(
            {
                name: value.s.decode()
                for name, value in custom.parameter_map.items()
            }
        )
    return found


def _is_off() -> bool:
    return (
        not _library.is_managed()
        and _parameters(_call_config()) == {}
        and sn_tf.stats().budget_bytes == 0
    )


def test_a_scope_sets_the_pass_and_the_budget() -> None:
    assert _is_off()
    with sn_tf.scope("1GB", policy="liveness", batch_size=16):
        config = _call_config()
        parameters = _parameters(config)
        assert sn_tf.stats().budget_bytes == 10**9
    assert parameters["budget_bytes"] == str(10**9)
    assert parameters["policy"] == "liveness"
    assert parameters["batch_size"] == "16"
    assert int(parameters["session"]) > 0
    rewrite = config.graph_options.rewrite_options
    assert rewrite.meta_optimizer_iterations == rewrite.TWO
    assert _is_off()


def test_a_scope_ends_with_an_error() -> None:
    with pytest.raises(KeyError), sn_tf.scope("1GB"):
        raise KeyError("something else")
    assert _is_off()


def test_the_previous_options_object_is_back() -> None:
    before = context.context().function_call_options
    with sn_tf.scope("1GB"):
        assert context.context().function_call_options is not before
    assert context.context().function_call_options is before


def test_other_settings_of_the_thread_are_kept() -> None:
    with tf.experimental.function_executor_type("SINGLE_THREADED_EXECUTOR"):
        before = _call_config()
        with sn_tf.scope("1GB"):
            options = context.context().function_call_options
            assert options.executor_type == "SINGLE_THREADED_EXECUTOR"
            during = _call_config()
    assert during.allow_soft_placement == before.allow_soft_placement
    assert during.device_count == before.device_count


def test_tensorflow_may_copy_the_options() -> None:
    with sn_tf.scope("1GB"):
        options = context.context().function_call_options
        wanted = options.config_proto_serialized
        assert copy.copy(options).config_proto_serialized == wanted
        with tf.experimental.function_executor_type("SINGLE_THREADED_EXECUTOR"):
            assert _parameters(_call_config())
        assert _parameters(_call_config())


def test_scopes_nest_when_they_agree() -> None:
    with sn_tf.scope("1GB"):
        outer = _parameters(_call_config())
        with sn_tf.scope(10**9):
            assert _parameters(_call_config()) == outer
        assert _parameters(_call_config()) == outer
        assert sn_tf.stats().budget_bytes == 10**9


def test_one_scope_object_can_be_entered_again() -> None:
    scope = sn_tf.scope("1GB")
    with scope:
        with scope:
            assert sn_tf.stats().budget_bytes == 10**9
        assert sn_tf.stats().budget_bytes == 10**9
    assert _is_off()
    with scope:
        assert sn_tf.stats().budget_bytes == 10**9


def test_auto_agrees_with_auto() -> None:
    with sn_tf.scope("auto"):
        first = sn_tf.stats().budget_bytes
        with sn_tf.scope("auto"):
            assert sn_tf.stats().budget_bytes == first


@pytest.mark.parametrize(
    "start",
    [
        lambda: sn_tf.scope("2GB").__enter__(),
        lambda: sn_tf.enable("2GB"),
        lambda: sn_tf.session_config("2GB"),
        lambda: sn_tf.scope("1GB", policy="liveness").__enter__(),
    ],
)
def test_two_that_disagree_are_refused(start: Callable[[], None]) -> None:
    with sn_tf.scope("1GB"):
        with pytest.raises(ValueError) as error:
            start()
        assert sn_tf.stats().budget_bytes == 10**9
    assert "budget_bytes=1000000000" in str(error.value)
    assert "disagree" in str(error.value)
    assert _is_off()


def test_enable_and_disable() -> None:
    sn_tf.enable("1GB")
    sn_tf.enable("1GB")
    assert _parameters(_call_config())["budget_bytes"] == str(10**9)
    with pytest.raises(ValueError, match="disagree"):
        sn_tf.enable("2GB")
    sn_tf.disable()
    assert _is_off()
    sn_tf.disable()
    assert _is_off()
    sn_tf.enable("2GB")
    assert sn_tf.stats().budget_bytes == 2 * 10**9
    sn_tf.disable()


def test_enable_refuses_an_unknown_option() -> None:
    with pytest.raises(ValueError, match="potatoes=4"):
        sn_tf.enable("1GB", potatoes=4)


def test_other_threads_share_only_the_budget() -> None:
    seen: list[object] = []

    def look() -> None:
        seen.append(_parameters(_call_config()))
        seen.append(sn_tf.stats().budget_bytes)

    with sn_tf.scope("1GB"):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [{}, 10**9]


def test_below_what_is_in_use_is_refused_with_both_numbers() -> None:
    tensor = tf.zeros([1_000_000])
    with pytest.raises(ValueError) as error:
        sn_tf.enable("1MB")
    in_use = sn_tf.stats().in_use_bytes
    assert "1000000 bytes" in str(error.value)
    assert f"{in_use} bytes" in str(error.value)
    assert tensor.shape == [1_000_000]
    assert _is_off()


def test_tracing_sees_the_configuration_without_the_pass() -> None:
    seen: list[dict[str, str]] = []

    def look() -> tf.Tensor:
        seen.append(_parameters(_call_config()))
        return tf.constant(1.0)

    traced = tf.function(look)
    with sn_tf.scope("1GB"):
        traced()
        assert _parameters(_call_config())
    assert seen == [{}]


def test_every_call_asks_for_the_newest_generation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generation = 0
    monkeypatch.setattr(
        _library.library(), "generation", lambda session: generation
    )
    with sn_tf.scope("1GB"):
        assert _parameters(_call_config())["generation"] == "0"
        options = context.context().function_call_options
        assert (
            options.config_proto_serialized is options.config_proto_serialized
        )
        generation = 1
        assert _parameters(_call_config())["generation"] == "1"


def test_an_infeasible_plan_is_raised_once_with_its_generation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generation = 0
    library = _library.library()
    monkeypatch.setattr(library, "generation", lambda session: generation)
    monkeypatch.setattr(library, "reports", lambda session: [_REPORT])
    with sn_tf.scope("1GB"):
        _call_config()
        generation = 1
        with pytest.raises(sn_tf.InfeasibleBudgetError) as error:
            _call_config()
        # The caller may go on with a smaller step.
        generation = 2
        assert _parameters(_call_config())["generation"] == "2"
    assert error.value.min_budget_bytes == 250
    assert error.value.limiting_op == "conv1/Conv2D"


def test_a_graph_without_a_plan_is_not_infeasible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generation = 0
    library = _library.library()
    unplanned = {**_REPORT, "stock_peak_bytes": 0, "reason": "it has a loop"}
    monkeypatch.setattr(library, "generation", lambda session: generation)
    monkeypatch.setattr(library, "reports", lambda session: [unplanned])
    with sn_tf.scope("1GB"):
        _call_config()
        generation = 1
        assert _parameters(_call_config())["generation"] == "1"


def test_a_step_failed_as_infeasible_is_named_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        _library.library(), "reports", lambda session: [_REPORT]
    )
    failure = tf.errors.ResourceExhaustedError(
        None, None, "{{node x}} sn_tf: infeasible budget of 100 bytes"
    )
    with (
        pytest.raises(sn_tf.InfeasibleBudgetError) as error,
        sn_tf.scope("1GB"),
    ):
        raise failure
    assert error.value.__cause__ is failure
    assert _is_off()


def test_running_out_of_memory_beside_an_infeasible_plan_is_named_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failure = tf.errors.ResourceExhaustedError(
        None, None, "OOM when allocating"
    )
    reports: list[Any] = []
    monkeypatch.setattr(_library.library(), "reports", lambda session: reports)
    with (
        pytest.raises(tf.errors.ResourceExhaustedError),
        sn_tf.scope("1GB"),
    ):
        raise failure
    reports.append(_REPORT)
    with sn_tf.scope("1GB"):
        with pytest.raises(sn_tf.InfeasibleBudgetError), sn_tf.scope("1GB"):
            raise failure
        # The plan was told of; this is another function's failure.
        with (
            pytest.raises(tf.errors.ResourceExhaustedError),
            sn_tf.scope("1GB"),
        ):
            raise failure


def test_session_config_extends_a_copy() -> None:
    base = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=3)
    before = base.SerializeToString(deterministic=True)
    config = sn_tf.session_config("1GB", base=base, batch_size=8)
    try:
        assert config.inter_op_parallelism_threads == 3
        assert _parameters(config)["batch_size"] == "8"
        assert base.SerializeToString(deterministic=True) == before
        assert sn_tf.stats().budget_bytes == 10**9
        assert not _library.is_managed()
    finally:
        sn_tf.disable()
    assert _is_off()


def test_report_is_of_the_active_or_the_last_session(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = _library.library()
    with sn_tf.scope("1GB"):
        assert sn_tf.report() == []
    with sn_tf.scope("1GB", report_dir=str(tmp_path / "made")):
        monkeypatch.setattr(library, "reports", lambda session: [_REPORT])
        assert [plan.function for plan in sn_tf.report()] == ["step"]
    monkeypatch.undo()
    plan = sn_tf.report()[0]
    assert dataclasses.asdict(plan) == {**_REPORT, "actions": ()}
    written = json.loads((tmp_path / "made/step.json").read_text())
    assert written == _REPORT
    assert "conv1/Conv2D" in (tmp_path / "made/step.md").read_text()


def test_what_is_active_may_end_in_any_order() -> None:
    with sn_tf.scope("1GB"):
        sn_tf.enable("1GB")
    assert _library.is_managed()
    sn_tf.disable()
    assert not _library.is_managed()

    sn_tf.enable("1GB")
    with sn_tf.scope("1GB"):
        sn_tf.disable()
        assert _library.is_managed()
    assert not _library.is_managed()

    first, second = sn_tf.scope("1GB"), sn_tf.scope("1GB")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert _library.is_managed()
    second.__exit__(None, None, None)
    assert not _library.is_managed()
    assert sn_tf.stats().budget_bytes == 0
