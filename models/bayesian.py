# SPDX-License-Identifier: Apache-2.0
"""A Bayesian network: its weights are distributions, and training fits those.

TensorFlow Probability's layers are of Keras 2 (tf_keras), and so is the model.
"""

import tensorflow_probability as tfp
import tf_keras
from tf_keras import layers

_STAGES = 3


def _posterior():
    """Distributions for one layer.

    They are the library's defaults, but that its initializers are made once
    and for all: they would know no seed, and start layers with equal weights.
    """
    normal = tf_keras.initializers.RandomNormal
    return tfp.layers.default_mean_field_normal_fn(
        loc_initializer=normal(stddev=0.1),
        untransformed_scale_initializer=normal(mean=-3.0, stddev=0.1),
    )


def flipout(*, image, classes, width=32, samples=1438):
    """Convolutional network of Flipout layers (Wen et al., 2018).

    A step draws new weights, others for each image. The loss has a part of
    each layer: the divergence of its weights' distribution from the prior.

    Args:
        image: Side of the square RGB input, at least 8.
        classes: Number of classes.
        width: Filters of the first stage, doubled at each of the two others.
            Defaults to 32.
        samples: Training samples among which that part of the loss is shared.
            Defaults to 1438, the digits of `models.data`.
    """
    if image < 2**_STAGES:
        raise ValueError(
            f"The network halves its input {_STAGES} times. Received: image="
            f"{image}. Expected at least {2**_STAGES}."
        )

    def divergence(posterior, prior, _):
        return tfp.distributions.kl_divergence(posterior, prior) / samples

    def options():
        return {
            "kernel_posterior_fn": _posterior(),
            "kernel_divergence_fn": divergence,
        }

    inputs = x = tf_keras.Input((image, image, 3))
    for stage in range(_STAGES):
        for _ in range(2):
            x = tfp.layers.Convolution2DFlipout(
                width * 2**stage, 3, padding="same", **options()
            )(x)
            x = layers.BatchNormalization()(x)
            x = layers.ReLU()(x)
        x = layers.MaxPooling2D(2)(x)
    x = layers.GlobalAveragePooling2D()(x)
    outputs = tfp.layers.DenseFlipout(classes, **options())(x)
    return tf_keras.Model(inputs, outputs, name="bayesian")
