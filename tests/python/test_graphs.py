# SPDX-License-Identifier: Apache-2.0
"""Graphs that sessions write, and plans of graphs without a session."""

from __future__ import annotations

import dataclasses
import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import sn_tf
from sn_tf.graphs import RUN, Buffer, Graph, Op, plan_graph
from sn_tf.options import Options

_LAYERS = 4
_SIZE, _ROWS = 64, 4096
# The first is measured. Behind the third, times may be too, and what they would
# plan is not always what goes on running.
_STEPS = 2


def _train(folder: Path, **options: Any) -> sn_tf.PlanReport:
    """Trains a small network; returns the report of its plan."""
    random = np.random.default_rng(0)
    shape = (_SIZE, _SIZE)
    weights = [
        tf.Variable(random.standard_normal(shape).astype(np.float32) / _SIZE)
        for _ in range(_LAYERS)
    ]
    x = tf.ones((_ROWS, _SIZE))

    @tf.function
    def step() -> None:
        with tf.GradientTape() as tape:
            hidden = x
            for one in weights:
                hidden = tf.tanh(tf.matmul(hidden, one))
            loss = tf.reduce_mean(hidden)
        gradients = tape.gradient(loss, weights)
        for one, gradient in zip(weights, gradients, strict=True):
            one.assign_sub(gradient)

    gc.collect()
    with sn_tf.scope(report_dir=folder, **options):
        for _ in range(_STEPS):
            step()
        (report,) = sn_tf.report()
    return report


def _read(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("*.graph.json")
    return dict(json.loads(path.read_text()))


def test_a_graph_is_planned_as_the_session_planned_it(tmp_path: Path) -> None:
    needed = _train(tmp_path / "all", budget="4GB", policy="liveness")
    # Other tests' memory may be in use as well.
    resident = needed.resident_bytes
    budget = resident + int(0.7 * (needed.stock_peak_bytes - resident))
    report = _train(tmp_path / "part", budget=budget, tiers="host", cache="off")
    assert report.is_planned
    values = _read(tmp_path / "part")
    assert values["options"]["budget_bytes"] == budget
    plan = plan_graph(Graph.from_dict(values), Options(**values["options"]))
    assert not plan.rejected
    assert plan.feasible == report.feasible
    # Reports leave out what is kept free.
    spare = plan.floor_bytes - report.floor_bytes
    assert spare >= 0
    assert plan.peak_bytes - spare == report.planned_peak_bytes
    assert plan.expected_peak_bytes - spare == report.expected_peak_bytes
    assert plan.route_peak_bytes - spare == report.stock_peak_bytes
    assert plan.added_seconds == report.added_seconds
    assert plan.stall_seconds == report.stall_seconds
    assert plan.route == values["route"]


def test_the_same_step_has_the_same_graph(tmp_path: Path) -> None:
    graphs = []
    for name in ("one", "other"):
        tf.compat.v1.reset_default_graph()
        _train(tmp_path / name, budget="4GB", policy="liveness")
        values = _read(tmp_path / name)
        values["resident_bytes"] = 0  # What else is in the process.
        for op in values["ops"]:
            # Measured: an assignment copies what a reader still holds.
            if op["type"].startswith("Assign"):
                op["workspace_bytes"] = 0
        graphs.append(json.dumps(values))
    assert graphs[0] == graphs[1]


def test_without_a_folder_no_graph_is_kept(tmp_path: Path) -> None:
    with sn_tf.scope("4GB", policy="liveness"):
        tf.function(lambda: tf.ones([1000, 1000]) * 2.0)()
    assert not list(tmp_path.iterdir())


def _chain() -> Graph:
    """Each op reads what the one before writes, the last one the first too."""
    ops = [
        Op(
            name=f"op{at}",
            type="Test",
            after=(at - 1,) if at else (),
            reads=((0, at - 1) if at == 3 else (at - 1,)) if at else (),
            writes=(at,),
            seconds=1.0,
            pure=True,
        )
        for at in range(4)
    ]
    buffers = [
        Buffer(name=f"op{at}:0", bytes=100, producer=at) for at in range(4)
    ]
    return Graph(tuple(ops), tuple(buffers))


_HERE = Options(
    budget_bytes=250, min_buffer_bytes=1, link_bandwidth_bytes_per_s=100
)


def test_a_graph_reads_back_the_same() -> None:
    assert Graph.from_dict(json.loads(_chain().to_json())) == _chain()


def test_policies_plan_a_graph() -> None:
    alone = plan_graph(_chain(), dataclasses.replace(_HERE, policy="liveness"))
    assert alone.route == [0, 1, 2, 3]
    assert not alone.feasible
    assert not alone.holds
    assert alone.peak_bytes == alone.route_peak_bytes == 300
    assert alone.step_seconds == 4
    assert alone.costs.link_bytes_per_s == 100
    assert alone.costs.copy_seconds(50) == 0.5
    # Op 3 reads and writes three buffers at once.
    assert plan_graph(_chain(), _HERE).min_budget_bytes == 300


def test_what_is_written_in_place_takes_no_memory() -> None:
    graph = _chain()
    ops = [
        dataclasses.replace(op, in_place_output=at, in_place_inputs=op.reads)
        if op.reads
        else op
        for at, op in enumerate(graph.ops)
    ]
    in_place = dataclasses.replace(graph, ops=tuple(ops))
    assert Graph.from_dict(json.loads(in_place.to_json())) == in_place
    plan = plan_graph(in_place, _HERE)
    assert plan.holds
    # Op 3 reads what op 0 writes: op 1 may not write over that.
    assert plan.peak_bytes == 200
    assert not plan.added_seconds


def test_a_schedule_is_judged() -> None:
    route = [(RUN, op) for op in range(4)]
    assert plan_graph(_chain(), _HERE, route).peak_bytes == 300
    recomputed = [*route[:3], ("recompute", 0), route[3]]
    plan = plan_graph(_chain(), _HERE, recomputed)
    assert not plan.rejected
    assert plan.recompute_seconds == plan.added_seconds == 1
    assert "never runs" in plan_graph(_chain(), _HERE, route[:3]).rejected


def test_what_cannot_be_planned_is_refused() -> None:
    graph = _chain()
    with pytest.raises(ValueError, match="Expected \\[kind, id\\]"):
        plan_graph(graph, _HERE, [("run", 9)])
    with pytest.raises(ValueError, match='option `policy`. Received: "best"'):
        plan_graph(graph, dataclasses.replace(_HERE, policy="best"))
    negative = dataclasses.replace(graph.buffers[0], bytes=-1)
    with pytest.raises(ValueError, match="`bytes` of buffer 0"):
        plan_graph(Graph(graph.ops, (negative, *graph.buffers[1:])), _HERE)
