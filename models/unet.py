# SPDX-License-Identifier: Apache-2.0
"""U-Net that cleans noisy images: its skips hold tensors across the network."""

import keras
from keras import layers


def _double_conv(x, filters):
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
    return x


def unet(*, image, classes=None, depth=4, filters=32):
    """U-Net whose output is the input minus the noise it estimates.

    Args:
        image: Side of the square RGB input; a multiple of 2**depth.
        classes: Ignored; there are none.
        depth: Times that the image is halved. Defaults to 4.
        filters: Filters at full resolution, doubled at each halving.
            Defaults to 32.
    """
    del classes
    if image % 2**depth:
        raise ValueError(
            f"U-Net of depth {depth} halves its input {depth} times. "
            f"Received: image={image}. Expected a multiple of {2**depth}."
        )
    inputs = x = keras.Input((image, image, 3))
    skips = []
    for level in range(depth):
        x = _double_conv(x, filters * 2**level)
        skips.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = _double_conv(x, filters * 2**depth)
    for level in reversed(range(depth)):
        x = layers.Conv2DTranspose(filters * 2**level, 2, strides=2)(x)
        x = layers.Concatenate()([skips[level], x])
        x = _double_conv(x, filters * 2**level)
    noise = layers.Conv2D(3, 1)(x)
    outputs = layers.Subtract()([inputs, noise])
    return keras.Model(inputs, outputs, name="unet")
