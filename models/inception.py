# SPDX-License-Identifier: Apache-2.0
"""Inception v4, without residual connections (Szegedy et al., 2016)."""

import keras
from keras import layers

_LEAST_IMAGE = 75


def _conv(x, filters, kernel, *, strides=1, padding="same"):
    x = layers.Conv2D(
        filters, kernel, strides=strides, padding=padding, use_bias=False
    )(x)
    return layers.ReLU()(layers.BatchNormalization()(x))


def _convs(x, *stages):
    """Convolutions one after another, (filters, kernel) each."""
    for filters, kernel in stages:
        x = _conv(x, filters, kernel)
    return x


def _halved(x, filters):
    """A 3x3 convolution that halves the image and drops its edge."""
    return _conv(x, filters, 3, strides=2, padding="valid")


def _pool_halved(x):
    return layers.MaxPooling2D(3, strides=2)(x)


def _pool_conv(x, filters):
    x = layers.AveragePooling2D(3, strides=1, padding="same")(x)
    return _conv(x, filters, 1)


def _concatenate(*branches):
    return layers.Concatenate()(list(branches))


def _stem(x):
    """From the image to 384 channels, 8 times smaller."""
    x = _halved(x, 32)
    x = _conv(x, 32, 3, padding="valid")
    x = _conv(x, 64, 3)
    x = _concatenate(_pool_halved(x), _halved(x, 96))
    short = _conv(x, 64, 1)
    long = _convs(x, (64, 1), (64, (7, 1)), (64, (1, 7)))
    x = _concatenate(
        *(_conv(branch, 96, 3, padding="valid") for branch in (short, long))
    )
    return _concatenate(_halved(x, 192), _pool_halved(x))


def _inception_a(x):
    return _concatenate(
        _pool_conv(x, 96),
        _conv(x, 96, 1),
        _convs(x, (64, 1), (96, 3)),
        _convs(x, (64, 1), (96, 3), (96, 3)),
    )


def _reduction_a(x):
    return _concatenate(
        _pool_halved(x),
        _halved(x, 384),
        _halved(_convs(x, (192, 1), (224, 3)), 256),
    )


def _inception_b(x):
    across, down = (1, 7), (7, 1)
    return _concatenate(
        _pool_conv(x, 128),
        _conv(x, 384, 1),
        _convs(x, (192, 1), (224, across), (256, down)),
        _convs(
            x, (192, 1), (192, across), (224, down), (224, across), (256, down)
        ),
    )


def _reduction_b(x):
    return _concatenate(
        _pool_halved(x),
        _halved(_conv(x, 192, 1), 192),
        _halved(_convs(x, (256, 1), (256, (1, 7)), (320, (7, 1))), 320),
    )


def _inception_c(x):
    across, down = (1, 3), (3, 1)
    short = _conv(x, 384, 1)
    long = _convs(x, (384, 1), (448, across), (512, down))
    return _concatenate(
        _pool_conv(x, 256),
        _conv(x, 256, 1),
        *(
            _conv(branch, 256, kernel)
            for branch in (short, long)
            for kernel in (across, down)
        ),
    )


def inceptionv4(*, image, classes, dropout=0.2):
    """Inception v4.

    Args:
        image: Side of the square RGB input, at least 75; 299 originally.
        classes: Number of classes.
        dropout: Rate before the last layer. Defaults to 0.2.
    """
    if image < _LEAST_IMAGE:
        raise ValueError(
            "Inception v4 makes its input 32 times smaller, without its edges. "
            f"Received: image={image}. Expected at least {_LEAST_IMAGE}."
        )
    inputs = keras.Input((image, image, 3))
    x = _stem(inputs)
    for blocks, block, reduction in (
        (4, _inception_a, _reduction_a),
        (7, _inception_b, _reduction_b),
        (3, _inception_c, layers.GlobalAveragePooling2D()),
    ):
        for _ in range(blocks):
            x = block(x)
        x = reduction(x)
    x = layers.Dropout(dropout)(x)
    outputs = layers.Dense(classes)(x)
    return keras.Model(inputs, outputs, name="inceptionv4")
