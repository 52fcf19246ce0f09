# SPDX-License-Identifier: Apache-2.0
"""VGG networks with batch normalisation and a small classifier."""

import keras
from keras import layers

_STAGE_FILTERS = (64, 128, 256, 512, 512)
_STAGE_CONVS = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}


def vgg(*, image, classes, depth=16, width=1.0, dropout=0.5):
    """VGG of 11, 13, 16 or 19 layers.

    The two hidden dense layers, which hold most of VGG's weights, are one layer
    of 512 units here, as is usual for small images.

    Args:
        image: Side of the square RGB input, at least 32.
        classes: Number of classes.
        depth: 11, 13, 16 or 19. Defaults to 16.
        width: Factor on the number of filters. Defaults to 1.0.
        dropout: Rate before the last layer. Defaults to 0.5.
    """
    if depth not in _STAGE_CONVS:
        raise ValueError(
            f"Invalid depth of a VGG. Received: depth={depth}. Expected one "
            f"of {sorted(_STAGE_CONVS)}."
        )
    if image < 32:
        raise ValueError(
            f"VGG halves its input five times. Received: image={image}. "
            "Expected at least 32."
        )
    inputs = x = keras.Input((image, image, 3))
    for filters, convs in zip(_STAGE_FILTERS, _STAGE_CONVS[depth], strict=True):
        for _ in range(convs):
            x = layers.Conv2D(
                max(1, int(filters * width)), 3, padding="same", use_bias=False
            )(x)
            x = layers.BatchNormalization()(x)
            x = layers.ReLU()(x)
        x = layers.MaxPooling2D(2)(x)
    x = layers.Flatten()(x)
    x = layers.Dense(512, activation="relu")(x)
    x = layers.Dropout(dropout)(x)
    outputs = layers.Dense(classes)(x)
    return keras.Model(inputs, outputs, name=f"vgg_{depth}")
