# SPDX-License-Identifier: Apache-2.0
"""benchmarks.plan_scaling: its graphs, what it measures, and its targets."""

import collections

import pytest
import tensorflow as tf
from commands import printed, run

from benchmarks import plan_scaling, training_graph

_POWER = 1.2
# Copies have constants of their own, and sizes that a graph computes once; and
# TensorFlow passes a given gradient on by an Identity.
_BESIDES = ("Const", "Maximum", "FloorDiv", "Identity")


@pytest.fixture(scope="module")
def graphs():
    return training_graph.TrainingGraphs()


def _built_at_once(blocks):
    """The ops of a network that is built without copies, by type."""
    with tf.Graph().as_default() as graph:
        builder = training_graph._Builder()
        images = tf.compat.v1.placeholder(tf.float32, [32, 32, 32, 3])
        x = builder.conv(images, 16, 3)
        for stage in range(3):
            for block in range(blocks):
                first = block == 0
                strides = 2 if first and stage > 0 else 1
                x = builder.block(x, 16 * 2**stage, strides, first)
        builder.train(builder.loss(x), images, None)
        return collections.Counter(op.type for op in graph.get_operations())


def test_graphs_of_copies_have_the_ops_of_the_network(graphs):
    copied = collections.Counter(node.op for node in graphs.make(2).node)
    copied["NoOp"] -= 1
    at_once = _built_at_once(2)
    for op in _BESIDES:
        del copied[op], at_once[op]
    assert +copied == at_once


def test_graphs_of_copies_are_one_network(graphs):
    definition = graphs.make(3)
    names = [node.name for node in definition.node]
    assert len(set(names)) == len(names)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
    ops = {op.name: op for op in graph.get_operations()}
    fetch = ops[training_graph.FETCH]
    variables = [op for op in ops.values() if op.type == "VarHandleOp"]
    assert len(fetch.control_inputs) == len(variables)
    # The first layer's gradient comes from the loss, through all layers.
    first = next(
        op for op in fetch.control_inputs if op.name.startswith("part_0/")
    )
    reached = set()
    ahead = [first]
    while ahead:
        op = ahead.pop()
        if op.name not in reached:
            reached.add(op.name)
            ahead += [tensor.op for tensor in op.inputs]
    assert {"images", "part_10/labels"} <= reached
    kernels = [op.name for op in ops.values() if op.type == "Conv2D"]
    assert reached.issuperset(kernels)


def test_sizes_come_near_to_what_was_asked_for(graphs):
    for nodes in (4_000, 20_000):
        made = len(graphs.make(graphs.blocks_for(nodes)).node)
        assert abs(made - nodes) < 0.15 * nodes
    assert graphs.blocks_for(1) == 1


def test_small_graphs_are_measured():
    done = run(
        "benchmarks.plan_scaling",
        *("--nodes", 1_000, 2_000, "--rounds", 1, "--json"),
        *("--plans", "liveness", "auto"),
    )
    # Whether targets are met is not of this test.
    assert done.returncode in (0, 1), done.stderr
    curves = printed(done)
    assert [(curve["plan"], curve["when"]) for curve in curves] == [
        ("liveness", "first"),
        ("auto", "first"),
        ("auto", "measured"),
    ]
    for curve in curves:
        few, many = curve["points"]
        assert 1_000 < few["nodes"] < many["nodes"] < 3_000
        assert curve["exponent"] is not None
        for point in curve["points"]:
            assert 0 < point["planned_nodes"] < point["nodes"]
            assert point["tensorflow_seconds"] > 0
            phases = point["phase_seconds"]
            assert min(phases.values()) > 0
            assert sum(phases.values()) < 1.05 * point["pass_seconds"]
            moves = point["swapped_buffers"] + point["recomputed_ops"]
            assert (moves > 0) == (curve["plan"] == "auto")


def _point(nodes, seconds, *, tensorflow=1e9, feasible=True):
    return {
        "nodes": nodes,
        "planned_nodes": nodes,
        "pass_seconds": seconds,
        "phase_seconds": dict.fromkeys(plan_scaling._PHASES, seconds / 7),
        "tensorflow_seconds": tensorflow,
        "feasible": feasible,
    }


def test_the_exponent_is_that_of_the_times():
    points = [_point(nodes, 1e-6 * nodes**_POWER) for nodes in (10, 100, 5000)]
    assert plan_scaling.exponent(points, "pass_seconds") == pytest.approx(
        _POWER
    )
    assert plan_scaling.exponent(points[:1], "pass_seconds") is None


def test_curves_fail_where_a_target_is_missed():
    def found(*points):
        return plan_scaling.curve_of("auto", "first", list(points))["faults"]

    assert found(_point(10_000, 1), _point(100_000, 14)) == []
    assert found(_point(10_000, 1), _point(100_000, 15)) == [
        "exponent above 1.15"
    ]
    # Small graphs are not compared.
    assert found(_point(10_000, 2, tensorflow=1)) == []
    assert found(_point(250_000, 3, tensorflow=2)) == [
        "1.50 times TensorFlow's passes at 250000"
    ]
    assert found(_point(10_000, 1, feasible=False)) == ["infeasible at 10000"]


def test_tables_tell_times_and_results():
    curve = plan_scaling.curve_of(
        "swap", "first", [_point(10, 0.7, tensorflow=7), _point(20, 1.4)]
    )
    text = plan_scaling.table([curve])
    assert "| swap | first | 10 | 10 | 0.100 |" in text
    assert "| 0.700 | 7.00 | 0.100 |" in text
    assert "| swap | first | 1.000 | 27.090 | met |" in text
