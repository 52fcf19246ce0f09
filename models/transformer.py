# SPDX-License-Identifier: Apache-2.0
"""Transformer encoder that classifies a sequence of image patches."""

import keras
from keras import layers


@keras.saving.register_keras_serializable(package="sn_tf_models")
class PositionEmbedding(layers.Layer):
    """Adds a learned vector to each position of a sequence."""

    def build(self, input_shape):
        """Creates the vectors: one per position."""
        self.embedding = self.add_weight(
            name="embedding",
            shape=input_shape[1:],
            initializer=keras.initializers.RandomNormal(stddev=0.02),
        )

    def call(self, inputs):
        """Returns `inputs` (batch, position, width) plus the vectors."""
        return inputs + self.embedding


def _encoder_block(x, width, heads, dropout):
    """Attention and a two-layer perceptron, each normalised first and added."""
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    y = layers.MultiHeadAttention(heads, width // heads, dropout=dropout)(y, y)
    x = layers.Add()([x, layers.Dropout(dropout)(y)])
    y = layers.LayerNormalization(epsilon=1e-6)(x)
    y = layers.Dense(4 * width, activation="gelu")(y)
    y = layers.Dense(width)(y)
    return layers.Add()([x, layers.Dropout(dropout)(y)])


def encoder(
    *, image, classes, depth=6, width=192, heads=6, patch=8, dropout=0.1
):
    """Encoder over the patches of an image.

    Args:
        image: Side of the square RGB input; a multiple of `patch`.
        classes: Number of classes.
        depth: Encoder blocks. Defaults to 6.
        width: Width of the model; a multiple of `heads`. Defaults to 192.
        heads: Attention heads. Defaults to 6.
        patch: Side of a patch, or its height and width; the patches of an
            image are the sequence. Defaults to 8.
        dropout: Rate on attention weights and residual branches.
            Defaults to 0.1.
    """
    sides = patch if isinstance(patch, tuple) else (patch, patch)
    if any(image % side for side in sides):
        raise ValueError(
            f"Patches must tile the image. Received: image={image}, "
            f"patch={patch}."
        )
    if width % heads:
        raise ValueError(
            f"Heads must share the width evenly. Received: width={width}, "
            f"heads={heads}."
        )
    inputs = keras.Input((image, image, 3))
    x = layers.Conv2D(width, sides, strides=sides)(inputs)
    x = layers.Reshape((-1, width))(x)
    x = PositionEmbedding()(x)
    for _ in range(depth):
        x = _encoder_block(x, width, heads, dropout)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    x = layers.GlobalAveragePooling1D()(x)
    outputs = layers.Dense(classes)(x)
    return keras.Model(inputs, outputs, name="transformer")
