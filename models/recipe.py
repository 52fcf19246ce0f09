# SPDX-License-Identifier: Apache-2.0
"""How a network of this package is compiled for training."""

import models

# Rates at which every network here learns; none is tuned further.
LEARNING_RATES = {"sgd": 0.005, "momentum": 0.001, "adam": 0.0005}
OPTIMIZERS = tuple(LEARNING_RATES)


def make_optimizer(name, learning_rate=None, library=None):
    """Returns an optimizer.

    Args:
        name: One of `OPTIMIZERS`.
        learning_rate: Defaults to `LEARNING_RATES[name]`.
        library: Package that has it: `keras`, the default, or `tf_keras`.
    """
    if name not in LEARNING_RATES:
        raise ValueError(
            f"Unknown optimizer. Received: name={name!r}. Expected one of "
            f"{', '.join(OPTIMIZERS)}."
        )
    if library is None:
        import keras as library
    rate = LEARNING_RATES[name] if learning_rate is None else learning_rate
    if name == "adam":
        return library.optimizers.Adam(rate)
    return library.optimizers.SGD(
        rate, momentum=0.9 if name == "momentum" else 0.0
    )


def compile_model(model, name, optimizer, *, learning_rate=None, metrics=True):
    """Compiles `model`, built as `name`, in place and returns it.

    XLA is off (`jit_compile=False`): a function it compiles allocates nothing
    through TensorFlow, so its memory cannot be managed.

    Args:
        model: The network.
        name: Its name in the registry, which decides the loss.
        optimizer: One of `OPTIMIZERS`.
        learning_rate: Defaults to `LEARNING_RATES[optimizer]`.
        metrics: Also report accuracy, for classification.
    """
    library = models.library(name)
    classification = models.entry(name).task == models.CLASSIFICATION
    model.compile(
        optimizer=make_optimizer(optimizer, learning_rate, library),
        loss=library.losses.SparseCategoricalCrossentropy(from_logits=True)
        if classification
        else "mse",
        metrics=["accuracy"] if metrics and classification else None,
        jit_compile=False,
    )
    return model
