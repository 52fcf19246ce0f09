# SPDX-License-Identifier: Apache-2.0
"""A multilayer perceptron: the smallest network here."""

import keras
from keras import layers


def mlp(*, image, classes, depth=3, width=256):
    """Flattened image, `depth` hidden layers of `width` units, logits.

    Args:
        image: Side of the square RGB input.
        classes: Number of classes.
        depth: Hidden layers. Defaults to 3.
        width: Units of each. Defaults to 256.
    """
    inputs = keras.Input((image, image, 3))
    x = layers.Flatten()(inputs)
    for _ in range(depth):
        x = layers.Dense(width, activation="relu")(x)
    outputs = layers.Dense(classes)(x)
    return keras.Model(inputs, outputs, name="mlp")
