# SPDX-License-Identifier: Apache-2.0
"""Residual networks: the ImageNet kind, and the CIFAR kind of any depth."""

import keras
from keras import layers

_IMAGENET_BLOCKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def _conv(x, filters, kernel, strides=1):
    return layers.Conv2D(
        filters,
        kernel,
        strides=strides,
        padding="same",
        use_bias=False,
        kernel_initializer="he_normal",
    )(x)


def _norm_relu(x):
    return layers.ReLU()(layers.BatchNormalization()(x))


def _bottleneck_block(x, filters, strides, project):
    """1x1, 3x3, 1x1 convolutions around a sum; activation after the sum."""
    shortcut = x
    if project:
        shortcut = layers.BatchNormalization()(
            _conv(x, 4 * filters, 1, strides)
        )
    y = _norm_relu(_conv(x, filters, 1))
    y = _norm_relu(_conv(y, filters, 3, strides))
    y = layers.BatchNormalization()(_conv(y, 4 * filters, 1))
    return layers.ReLU()(layers.Add()([shortcut, y]))


def bottleneck(*, image, classes, depth=50):
    """ImageNet ResNet with bottleneck blocks (stride in the 3x3 convolution).

    Args:
        image: Side of the square RGB input.
        classes: Number of classes.
        depth: 50, 101 or 152. Defaults to 50.
    """
    if depth not in _IMAGENET_BLOCKS:
        raise ValueError(
            "Invalid depth of an ImageNet ResNet. Received: "
            f"depth={depth}. Expected 50, 101 or 152; for any other depth use "
            "the model 'resnet'."
        )
    inputs = keras.Input((image, image, 3))
    x = _norm_relu(_conv(inputs, 64, 7, 2))
    x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
    for stage, blocks in enumerate(_IMAGENET_BLOCKS[depth]):
        for block in range(blocks):
            first = block == 0
            strides = 2 if first and stage > 0 else 1
            x = _bottleneck_block(x, 64 * 2**stage, strides, project=first)
    x = layers.GlobalAveragePooling2D()(x)
    outputs = layers.Dense(classes)(x)
    return keras.Model(inputs, outputs, name=f"resnet_imagenet_{depth}")


def _preactivation_block(x, filters, strides, project):
    """Normalise and activate before each convolution; the sum stays bare."""
    y = _norm_relu(x)
    shortcut = _conv(y, 4 * filters, 1, strides) if project else x
    y = _conv(y, filters, 1, strides)
    y = _conv(_norm_relu(y), filters, 3)
    y = _conv(_norm_relu(y), 4 * filters, 1)
    return layers.Add()([shortcut, y])


def preactivation(*, image, classes, depth=29):
    """Pre-activation bottleneck ResNet of the CIFAR kind.

    Args:
        image: Side of the square RGB input.
        classes: Number of classes.
        depth: 9n + 2 for a whole n: three stages of n blocks of three
            convolutions each, and two more layers. Defaults to 29.
    """
    blocks, rest = divmod(depth - 2, 9)
    if blocks < 1 or rest:
        nearest = 9 * max(1, round((depth - 2) / 9)) + 2
        raise ValueError(
            "Invalid depth of a pre-activation ResNet. Received: "
            f"depth={depth}. Expected 9n + 2 for a whole n of at least 1; the "
            f"nearest is {nearest}."
        )
    inputs = keras.Input((image, image, 3))
    x = _conv(inputs, 16, 3)
    for stage in range(3):
        for block in range(blocks):
            first = block == 0
            strides = 2 if first and stage > 0 else 1
            x = _preactivation_block(x, 16 * 2**stage, strides, project=first)
    x = layers.GlobalAveragePooling2D()(_norm_relu(x))
    outputs = layers.Dense(classes)(x)
    return keras.Model(inputs, outputs, name=f"resnet_{depth}")
