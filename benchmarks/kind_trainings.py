# SPDX-License-Identifier: Apache-2.0
"""Small trainings of the kinds that there are, each with its difficulty.

Loops around steps and in them, several optimizers in a step, gradients that all
meet, conditionals with weights in them, narrow numbers, and layers that draw
their weights. Activations outweigh weights in all of them.
"""

import dataclasses
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

_FEATURES = 16
_CLASSES = 10
_SIDE = 128
_DEPTH = 8
_STEPS_AT_ONCE = 8
_ACCUMULATED = 3
_IMAGE = 16
_ROWS_PER_IMAGE = 16


@dataclasses.dataclass
class Training:
    """One training.

    Attributes:
        step: Trains one step; eight where they run at once.
        variables: All that training changes, as tf.Variable or as Keras' own.
    """

    step: Callable[[], object]
    variables: list


def make(kind, rows):
    """Returns a new training; the same for the same arguments.

    Args:
        kind: One of `KINDS`.
        rows: Samples of a batch, at least 16.
    """
    keras.utils.set_random_seed(1)
    return KINDS[kind](rows)


def _samples(rows, *shape):
    random = np.random.default_rng(2)
    x = random.standard_normal((rows, *shape), np.float32)
    return x, np.arange(rows) % _CLASSES


def _tower(dtype=None):
    """Layers that hold much, one after the other."""
    layers = []
    for _ in range(_DEPTH):
        layers.append(keras.layers.Dense(_SIDE, dtype=dtype))
        layers.append(keras.layers.LayerNormalization(dtype=dtype))
        layers.append(keras.layers.Activation("tanh", dtype=dtype))
    return layers


def _classifier(first, optimizer, dtype=None, **options):
    model = keras.Sequential(
        [
            *first,
            *_tower(dtype),
            keras.layers.Dense(_CLASSES, dtype="float32"),
        ]
    )
    model.compile(
        optimizer,
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
        **options,
    )
    model.optimizer.build(model.trainable_variables)
    return model


def _on_batch(model, x, y):
    x, y = tf.constant(x), tf.constant(y)
    return Training(
        lambda: model.train_on_batch(x, y),
        [*model.variables, *model.optimizer.variables],
    )


def _dense(rows, optimizer, dtype=None):
    model = _classifier([keras.Input((_FEATURES,))], optimizer, dtype)
    return _on_batch(model, *_samples(rows, _FEATURES))


def _steps_at_once(rows):
    model = _classifier(
        [keras.Input((_FEATURES,))],
        keras.optimizers.Adam(),
        steps_per_execution=_STEPS_AT_ONCE,
    )
    x, y = _samples(_STEPS_AT_ONCE * rows, _FEATURES)
    return Training(
        lambda: model.fit(x, y, batch_size=rows, shuffle=False, verbose=0),
        [*model.variables, *model.optimizer.variables],
    )


def _lstm(rows):
    first = [keras.Input((4, _FEATURES)), keras.layers.LSTM(_FEATURES)]
    model = _classifier(first, keras.optimizers.Adam())
    return _on_batch(model, *_samples(rows, 4, _FEATURES))


def _two_optimizers(rows):
    def network(outputs):
        return keras.Sequential(
            [
                keras.Input((_FEATURES,)),
                *_tower(),
                keras.layers.Dense(outputs),
            ]
        )

    generator, critic = network(_FEATURES), network(1)
    optimizers = [keras.optimizers.Adam(1e-4), keras.optimizers.RMSprop(1e-4)]
    networks = [generator, critic]
    for network, optimizer in zip(networks, optimizers, strict=True):
        optimizer.build(network.trainable_variables)
    real = tf.constant(_samples(rows, _FEATURES)[0])
    noise = tf.random.stateless_normal(real.shape, [3, 4])

    def losses():
        of_made = critic(generator(noise, training=True), training=True)
        of_real = critic(real, training=True)
        softplus = tf.math.softplus
        made, right = softplus(of_made), softplus(-of_real)
        return [
            tf.reduce_mean(softplus(-of_made)),
            tf.reduce_mean(made) + tf.reduce_mean(right),
        ]

    @tf.function
    def step():
        with tf.GradientTape(persistent=True) as tape:
            both = losses()
        gradients = [
            tape.gradient(loss, network.trainable_variables)
            for loss, network in zip(both, networks, strict=True)
        ]
        for one, network, optimizer in zip(
            gradients, networks, optimizers, strict=True
        ):
            optimizer.apply(one, network.trainable_variables)

    holders = [*networks, *optimizers]
    return Training(step, [one for each in holders for one in each.variables])


def _flipout(rows):
    import tf_keras

    from models import bayesian

    # The first of a process draws other numbers than those that follow.
    for _ in range(2):
        tf_keras.utils.set_random_seed(1)
        model = bayesian.flipout(image=_IMAGE, classes=_CLASSES, width=8)
    model.compile(
        tf_keras.optimizers.Adam(),
        tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )
    model.optimizer.build(model.trainable_variables)
    x, y = _samples(rows // _ROWS_PER_IMAGE, _IMAGE, _IMAGE, 3)
    x, y = tf.constant(x), tf.constant(y)
    return Training(
        lambda: model.train_on_batch(x, y),
        [*model.variables, *model.optimizer.variables],
    )


KINDS = {
    "steps_per_execution": _steps_at_once,
    "lstm": _lstm,
    "gan": _two_optimizers,
    "global_clipnorm": lambda rows: _dense(
        rows, keras.optimizers.Adam(global_clipnorm=0.1)
    ),
    "gradient_accumulation": lambda rows: _dense(
        rows, keras.optimizers.Adam(gradient_accumulation_steps=_ACCUMULATED)
    ),
    "mixed_bfloat16": lambda rows: _dense(
        rows, keras.optimizers.Adam(), "mixed_bfloat16"
    ),
    # Its scale begins too large: steps of both branches.
    "loss_scale": lambda rows: _dense(
        rows,
        keras.optimizers.LossScaleOptimizer(
            keras.optimizers.Adam(), initial_scale=2.0**20
        ),
        "mixed_float16",
    ),
    "loss_scale_accumulated": lambda rows: _dense(
        rows,
        keras.optimizers.LossScaleOptimizer(
            keras.optimizers.Adam(gradient_accumulation_steps=_ACCUMULATED)
        ),
        "mixed_float16",
    ),
    "flipout": _flipout,
}
