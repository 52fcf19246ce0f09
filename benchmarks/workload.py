# SPDX-License-Identifier: Apache-2.0
"""The model and the data of one measurement, the same for the same seed."""

import hashlib

import numpy as np

import models
from models import arguments, data, recipe


def make_model(options):
    """Builds and compiles the model, optimizer state included.

    Without accuracy: a measured step is forward, backward and update only.
    """
    models.library(options.model).utils.set_random_seed(options.seed)
    model = arguments.build_model(options)
    recipe.compile_model(
        model,
        options.model,
        options.optimizer,
        learning_rate=options.learning_rate,
        metrics=False,
    )
    model.optimizer.build(model.trainable_variables)
    return model


def make_samples(options, count, split="train"):
    """Returns the first `count` samples as (x, y), in a seeded order.

    They repeat from the start where the source has fewer.
    """
    source = data.source_for(
        options.model, options.image, split, seed=options.seed
    )
    return source.take(np.arange(count) % len(source))


def make_batches(options):
    """Returns `options.batches` batches of `options.batch` samples."""
    x, y = make_samples(options, options.batches * options.batch)
    return [
        (x[first : first + options.batch], y[first : first + options.batch])
        for first in range(0, len(x), options.batch)
    ]


def weights_sha256(model):
    """Hash of every bit that training changes, by order and not by name.

    Covers weights, moving averages, random seeds, and the optimizer's state.
    """
    return variables_sha256([*model.variables, *model.optimizer.variables])


def variables_sha256(variables):
    """The same of `variables`."""
    digest = hashlib.sha256()
    for variable in variables:
        value = np.ascontiguousarray(variable.numpy())
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()
