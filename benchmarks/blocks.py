# SPDX-License-Identifier: Apache-2.0
"""Blocks of networks, small enough that the best plan of a step can be found.

Each is trained for a few steps as a `tf.function` of its own, so that its graph
is what the pass plans: forward ops, gradients and weight updates.
"""

import dataclasses
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

import sn_tf
from sn_tf.graphs import Graph

# The first is measured, and the graph is made from it.
_STEPS = 3
_RATE = 0.01


class _Weights:
    """Variables by the order in which a block asks for them."""

    def __init__(self):
        self.variables = []
        self._random = np.random.default_rng(0)
        self._next = 0

    def begin(self):
        """The next call returns the first one again."""
        self._next = 0

    def __call__(self, *shape):
        """Returns a variable of that shape, made at the first call."""
        if self._next == len(self.variables):
            scale = 1 / np.sqrt(np.prod(shape[:-1]))
            value = self._random.standard_normal(shape) * scale
            self.variables.append(tf.Variable(value.astype(np.float32)))
        self._next += 1
        return self.variables[self._next - 1]


def _conv(x, weights, filters, size=3):
    return tf.nn.conv2d(x, weights(size, size, x.shape[-1], filters), 1, "SAME")


def _norm(x, weights):
    channels = x.shape[-1]
    scale, shift = weights(channels), weights(channels)
    return tf.compat.v1.nn.fused_batch_norm(x, scale, shift)[0]


def _dense(x, weights, units):
    return tf.matmul(x, weights(x.shape[-1], units)) + weights(units)


def residual(x, weights):
    """Two normalised convolutions, and a sum around them."""
    y = tf.nn.relu(_norm(_conv(x, weights, 16), weights))
    y = _norm(_conv(y, weights, 16), weights)
    return tf.nn.relu(x + y)


def dense(x, weights):
    """Each convolution reads what all before it have computed."""
    for _ in range(3):
        y = tf.nn.relu(_norm(x, weights))
        x = tf.concat([x, _conv(y, weights, 8)], -1)
    return x


def inception(x, weights):
    """Branches of different depth, side by side."""
    one = tf.nn.relu(_conv(x, weights, 8, 1))
    two = tf.nn.relu(_conv(x, weights, 8, 1))
    two = tf.nn.relu(_conv(two, weights, 16))
    three = tf.nn.relu(_conv(x, weights, 8, 1))
    three = tf.nn.relu(_conv(three, weights, 8))
    three = tf.nn.relu(_conv(three, weights, 8))
    pool = tf.nn.max_pool2d(x, 3, 1, "SAME")
    four = tf.nn.relu(_conv(pool, weights, 8, 1))
    return tf.concat([one, two, three, four], -1)


def unet(x, weights):
    """Depth 2: what is computed going down is read again coming up."""
    skips = []
    for level in range(2):
        x = tf.nn.relu(_conv(x, weights, 8 * 2**level))
        skips.append(x)
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
    x = tf.nn.relu(_conv(x, weights, 32))
    for level in reversed(range(2)):
        kernel = weights(2, 2, 8 * 2**level, x.shape[-1])
        shape = tf.shape(skips[level])
        x = tf.nn.conv2d_transpose(x, kernel, shape, 2)
        x = tf.concat([skips[level], x], -1)
        x = tf.nn.relu(_conv(x, weights, 8 * 2**level))
    return x


def transformer(x, weights):
    """Attention of one head and a perceptron, with sums around both."""
    batch, side, _, width = x.shape
    x = tf.reshape(x, [batch, side * side, width])
    query, key, value = (
        tf.einsum("bpw,wv->bpv", x, weights(width, width)) for _ in range(3)
    )
    scores = tf.nn.softmax(tf.matmul(query, key, transpose_b=True))
    x = x + tf.matmul(scores, value)
    y = tf.nn.relu(tf.einsum("bpw,wv->bpv", x, weights(width, 4 * width)))
    return x + tf.einsum("bpv,vw->bpw", y, weights(4 * width, width))


def vgg(x, weights):
    """A chain of convolutions, halved twice."""
    for filters in (16, 32):
        for _ in range(2):
            bias = weights(filters)
            x = tf.nn.relu(tf.nn.bias_add(_conv(x, weights, filters), bias))
        x = tf.nn.max_pool2d(x, 2, 2, "VALID")
    return x


def lstm(x, weights):
    """Three steps of an LSTM cell, each over a third of the image."""
    width = 256
    batch = x.shape[0]
    rows = tf.unstack(tf.reshape(x, [batch, 3, -1]), axis=1)
    kernel = weights(rows[0].shape[1] + width, 4 * width)
    hidden = memory = tf.zeros([batch, width])
    for row in rows:
        gates = tf.matmul(tf.concat([row, hidden], 1), kernel)
        new, into, keep, out = tf.split(gates, 4, 1)
        kept = tf.sigmoid(keep) * memory
        memory = kept + tf.sigmoid(into) * tf.tanh(new)
        hidden = tf.sigmoid(out) * tf.tanh(memory)
    return hidden


# With the shape of what each reads, and the number of ops that its graph is
# coarsened to, so that the best plan is found in minutes.
BLOCKS = {
    "residual": (residual, (8, 32, 32, 16), 64),
    "dense": (dense, (8, 32, 32, 16), 64),
    "inception": (inception, (8, 32, 32, 16), 64),
    "unet": (unet, (8, 32, 32, 8), 64),
    "transformer": (transformer, (32, 8, 8, 64), 64),
    "vgg": (vgg, (8, 32, 32, 8), 64),
    "lstm": (lstm, (256, 12, 12, 3), 32),
}


def most_ops(name):
    """Ops above which a block's graph had better be coarsened."""
    return BLOCKS[name][2]


def graph_of(name):
    """Trains a block for some steps.

    Args:
        name: One of `BLOCKS`.

    Returns:
        The graph that the pass planned, without resident bytes: what else is in
        the process is among them.
    """
    block, shape, _ = BLOCKS[name]
    weights = _Weights()
    x = tf.constant(
        np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    )

    def step(x):
        weights.begin()
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(block(x, weights)))
        gradients = tape.gradient(loss, weights.variables)
        for variable, gradient in zip(
            weights.variables, gradients, strict=True
        ):
            variable.assign_sub(_RATE * gradient)
        return loss

    step(x)  # Makes the variables.
    function = tf.function(step)
    with tempfile.TemporaryDirectory() as folder:
        with sn_tf.scope("8GB", policy="liveness", report_dir=folder):
            for _ in range(_STEPS):
                function(x)
        graphs = [Graph.read(one) for one in Path(folder).glob("*.graph.json")]
    graph = max(graphs, key=lambda graph: len(graph.ops))
    return dataclasses.replace(graph, resident_bytes=0)
