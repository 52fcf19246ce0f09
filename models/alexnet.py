# SPDX-License-Identifier: Apache-2.0
"""AlexNet, with the normalisation across channels that later networks left."""

import keras
import tensorflow as tf
from keras import layers

_LEAST_IMAGE = 67


class LocalResponseNormalization(layers.Layer):
    """Normalises each value by its neighbours in other channels.

    Args:
        depth_radius: Channels on each side that count. Defaults to 2.
    """

    def __init__(self, depth_radius=2, **kwargs):
        """Makes the layer; it has no weights."""
        super().__init__(**kwargs)
        self.depth_radius = depth_radius

    def call(self, inputs):
        """Returns the normalised `inputs`, of the same shape."""
        return tf.nn.local_response_normalization(
            inputs,
            depth_radius=self.depth_radius,
            bias=2.0,
            alpha=1e-4,
            beta=0.75,
        )


def alexnet(*, image, classes, dropout=0.5):
    """AlexNet on one device (Krizhevsky et al., 2012).

    Args:
        image: Side of the square RGB input, at least 67; 227 originally.
        classes: Number of classes.
        dropout: Rate behind each hidden dense layer. Defaults to 0.5.
    """
    if image < _LEAST_IMAGE:
        raise ValueError(
            "AlexNet makes its input 32 times smaller. Received: image="
            f"{image}. Expected at least {_LEAST_IMAGE}."
        )
    inputs = x = keras.Input((image, image, 3))
    x = layers.Conv2D(96, 11, strides=4, activation="relu")(x)
    x = LocalResponseNormalization()(x)
    x = layers.MaxPooling2D(3, strides=2)(x)
    x = layers.Conv2D(256, 5, padding="same", activation="relu")(x)
    x = LocalResponseNormalization()(x)
    x = layers.MaxPooling2D(3, strides=2)(x)
    x = layers.Conv2D(384, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(384, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(256, 3, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D(3, strides=2)(x)
    x = layers.Flatten()(x)
    for _ in range(2):
        x = layers.Dense(4096, activation="relu")(x)
        x = layers.Dropout(dropout)(x)
    outputs = layers.Dense(classes)(x)
    return keras.Model(inputs, outputs, name="alexnet")
