# SPDX-License-Identifier: Apache-2.0
"""LSTM that reads an image from top to bottom, as a sequence of rows."""

import keras
from keras import layers


def lstm(*, image, classes, depth=2, width=256, rows=1, unroll=True):
    """Stacked LSTM layers; the last state of the topmost is classified.

    Args:
        image: Side of the square RGB input; a multiple of `rows`.
        classes: Number of classes.
        depth: LSTM layers. Defaults to 2.
        width: Units of each. Defaults to 256.
        rows: Rows of the image that one step reads; the sequence has
            image / rows steps. Defaults to 1.
        unroll: Whether the graph has the ops of each step, in which case a
            memory plan can move what lies between them; or else one while loop
            per layer, which no plan changes. Defaults to `True`.
    """
    if image % rows:
        raise ValueError(
            f"Each step reads as many rows. Received: image={image}, "
            f"rows={rows}."
        )
    inputs = keras.Input((image, image, 3))
    x = layers.Reshape((image // rows, rows * image * 3))(inputs)
    for above in reversed(range(depth)):
        x = layers.LSTM(width, return_sequences=above > 0, unroll=unroll)(x)
    outputs = layers.Dense(classes)(x)
    return keras.Model(inputs, outputs, name="lstm")
