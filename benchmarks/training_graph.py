# SPDX-License-Identifier: Apache-2.0
"""Graphs of training steps of any size, in seconds.

A pre-activation bottleneck ResNet of the CIFAR kind, as `models.resnet` has it,
trained by SGD: forward ops, the gradients that `tf.gradients` makes of them,
and updates of weights and moving averages. TensorFlow builds about a thousand
ops a second, so only one block of each kind is built. Its gradient begins and
ends at tensors that stand for its neighbours'; a network of any depth is made
of copies of the blocks, each reading what its neighbours write.
"""

import dataclasses

import tensorflow as tf

v1 = tf.compat.v1

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
FETCH = "train"
_BATCH = 32
_IMAGE = 32
_CLASSES = 10
_STAGES = 3
_LEARNING_RATE = 0.1
_MOMENTUM = 0.99
# What stands for the neighbours' tensors while a block is built.
_INPUT = "input"
_GRADIENT = "gradient"
# Begins the attribute that keeps a node on the device of another.
_BESIDE = "loc:@"


@dataclasses.dataclass
class _Piece:
    """Nodes of a part of the network, to be copied.

    Attributes:
        nodes: NodeDefs; `_INPUT` and `_GRADIENT` are not among them.
        output: Name of the tensor that the next part reads.
        input_gradient: Name of the one that the part before reads.
        updates: Names of the ops that write state.
        shape: Of the output.
    """

    nodes: list
    output: str
    input_gradient: str
    updates: list
    shape: list


class _Builder:
    """Adds layers to the graph under construction."""

    def __init__(self):
        self.updates = []
        self.weights = []
        self._variables = 0

    def _variable(self, shape):
        """The variable's resource, and its value."""
        self._variables += 1
        resource = tf.raw_ops.VarHandleOp(
            dtype=tf.float32,
            shape=shape,
            shared_name=f"variable_{self._variables}",
        )
        value = tf.raw_ops.ReadVariableOp(resource=resource, dtype=tf.float32)
        value.set_shape(shape)
        return resource, value

    def weight(self, shape):
        """The value of a weight that is trained."""
        resource, value = self._variable(shape)
        self.weights.append((resource, value))
        return value

    def subtract(self, resource, value):
        """Updates a variable."""
        update = tf.raw_ops.AssignSubVariableOp(resource=resource, value=value)
        self.updates.append(update.name)

    def conv(self, x, filters, kernel, strides=1):
        """A convolution without bias."""
        weight = self.weight([kernel, kernel, x.shape[-1], filters])
        return tf.nn.conv2d(x, weight, strides, "SAME")

    def norm_relu(self, x):
        """Batch normalization in training, then ReLU."""
        shape = [x.shape[-1]]
        mean, variance = tf.nn.moments(x, [0, 1, 2])
        for statistic in (mean, variance):
            average, value = self._variable(shape)
            self.subtract(average, (value - statistic) * (1 - _MOMENTUM))
        scale, offset = self.weight(shape), self.weight(shape)
        return tf.nn.relu(
            tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3)
        )

    def block(self, x, filters, strides, project):
        """See `models.resnet`."""
        y = self.norm_relu(x)
        shortcut = self.conv(y, 4 * filters, 1, strides) if project else x
        y = self.conv(y, filters, 1, strides)
        y = self.conv(self.norm_relu(y), filters, 3)
        return shortcut + self.conv(self.norm_relu(y), 4 * filters, 1)

    def loss(self, x):
        """The classifier and its loss."""
        x = tf.reduce_mean(self.norm_relu(x), [1, 2])
        logits = tf.matmul(x, self.weight([x.shape[-1], _CLASSES]))
        labels = v1.placeholder(tf.int32, [_BATCH], name="labels")
        return tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        )

    def train(self, y, x, gradient):
        """Adds gradients and updates; returns the gradient of `x`."""
        weights = [value for _, value in self.weights]
        of_x, *of_weights = tf.gradients(
            y, [x, *weights], None if gradient is None else [gradient]
        )
        for (resource, _), one in zip(self.weights, of_weights, strict=True):
            self.subtract(resource, one * _LEARNING_RATE)
        return of_x


def _trace(layers, shape, *, last=False):
    """Builds a part of the network.

    Args:
        layers: Given a builder and a tensor, adds the part's forward ops.
        shape: Of its input.
        last: Whether its output is the loss.
    """
    with tf.Graph().as_default() as graph, tf.device(DEVICE):
        builder = _Builder()
        x = v1.placeholder(tf.float32, shape, name=_INPUT)
        y = layers(builder, x)
        gradient = (
            None if last else v1.placeholder(tf.float32, y.shape, _GRADIENT)
        )
        of_x = builder.train(y, x, gradient)
        nodes = graph.as_graph_def().node
    neighbours = {_INPUT, _GRADIENT}
    return _Piece(
        nodes=[node for node in nodes if node.name not in neighbours],
        output=_tensor(y),
        input_gradient=_tensor(of_x),
        updates=builder.updates,
        shape=y.shape.as_list(),
    )


def _tensor(tensor):
    """A tensor's name as nodes have it among their inputs."""
    return tensor.name.removesuffix(":0")


def _pieces():
    """The first part, per stage its first block and the others, the last."""
    stem = _trace(
        lambda builder, x: builder.conv(x, 16, 3), [_BATCH, _IMAGE, _IMAGE, 3]
    )
    stages = []
    shape = stem.shape
    for stage in range(_STAGES):
        kinds = []
        for first in (True, False):
            strides = 2 if first and stage > 0 else 1

            def block(builder, x, stage=stage, strides=strides, first=first):
                return builder.block(x, 16 * 2**stage, strides, first)

            kinds.append(_trace(block, shape))
            shape = kinds[-1].shape
        stages.append(kinds)
    head = _trace(lambda builder, x: builder.loss(x), shape, last=True)
    return stem, stages, head


class TrainingGraphs:
    """Makes graphs of networks of any depth."""

    def __init__(self):
        """Builds the parts: seconds."""
        self._stem, self._stages, self._head = _pieces()

    def _parts(self, blocks):
        parts = [self._stem]
        for first, other in self._stages:
            parts += [first, *[other] * (blocks - 1)]
        return [*parts, self._head]

    def blocks_for(self, nodes):
        """Blocks of a stage in the graph whose size is nearest to `nodes`."""
        first, second = (
            sum(len(part.nodes) for part in self._parts(blocks))
            for blocks in (1, 2)
        )
        return max(1, 1 + round((nodes - first) / (second - first)))

    def make(self, blocks):
        """The graph of a network with `blocks` blocks a stage.

        Returns:
            A GraphDef. Its node `FETCH` runs after all updates.
        """
        parts = self._parts(blocks)
        graph = v1.GraphDef()
        graph.versions.producer = tf.version.GRAPH_DEF_VERSION
        fetch = v1.NodeDef(name=FETCH, op="NoOp", device=DEVICE)
        _add_images(graph)
        for i, part in enumerate(parts):
            before = f"{_prefix(i - 1)}{parts[i - 1].output}" if i else "images"
            behind = (
                f"{_prefix(i + 1)}{parts[i + 1].input_gradient}"
                if i + 1 < len(parts)
                else None
            )
            outside = {_INPUT: before, _GRADIENT: behind}
            _copy(part, _prefix(i), outside, graph)
            fetch.input.extend(f"^{_prefix(i)}{name}" for name in part.updates)
        graph.node.append(fetch)
        return graph


def _prefix(part):
    return f"part_{part}/"


def _add_images(graph):
    with tf.Graph().as_default() as traced, tf.device(DEVICE):
        v1.placeholder(tf.float32, [_BATCH, _IMAGE, _IMAGE, 3], name="images")
        graph.node.extend(traced.as_graph_def().node)


def _copy(part, prefix, outside, graph):
    """Adds the part's nodes under other names.

    Args:
        part: A `_Piece`.
        prefix: Of the names.
        outside: Dictionary from what stands for tensors of neighbours to those.
        graph: The GraphDef to add to.
    """

    def renamed(name):
        if name in outside:
            return outside[name]
        control = name.startswith("^")
        return f"^{prefix}{name[1:]}" if control else prefix + name

    for node in part.nodes:
        copy = graph.node.add()
        copy.CopyFrom(node)
        copy.name = prefix + node.name
        copy.input[:] = [renamed(name) for name in node.input]
        if node.op == "VarHandleOp":
            copy.attr["shared_name"].s = copy.name.encode()
        if "_class" in node.attr:
            beside = (
                node.attr["_class"].list.s[0].decode().removeprefix(_BESIDE)
            )
            copy.attr["_class"].list.s[0] = (
                f"{_BESIDE}{prefix}{beside}".encode()
            )
