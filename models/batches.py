# SPDX-License-Identifier: Apache-2.0
"""Feeds a source of images to Keras, one batch in memory at a time."""

import math

import numpy as np

import models


class Batches:
    """Batches over a source of `models.data`; the last one may be smaller.

    Args:
        source: An object with `len` and `take(indices)`.
        batch: Samples in a batch.
        samples: Use only the first so many. Defaults to all.
        seed: Reshuffle before every epoch by this seed; None keeps the order.
    """

    def __init__(self, source, batch, samples=None, seed=None):
        """See the class."""
        super().__init__()
        available = len(source)
        if batch < 1:
            raise ValueError(
                f"Invalid batch size. Received: batch={batch}. Expected at "
                "least 1."
            )
        if samples is not None and not 1 <= samples <= available:
            raise ValueError(
                f"Invalid number of samples. Received: samples={samples}. "
                f"Expected 1 to {available}."
            )
        self._source = source
        self._batch = batch
        self._order = np.arange(available if samples is None else samples)
        self._generator = None if seed is None else np.random.default_rng(seed)
        self.on_epoch_end()

    def __len__(self):
        """Number of batches, a partial one included."""
        return math.ceil(len(self._order) / self._batch)

    def __getitem__(self, index):
        """Returns batch `index` of this epoch."""
        first = index * self._batch
        return self._source.take(self._order[first : first + self._batch])

    def on_epoch_end(self):
        """Shuffles for the next epoch."""
        if self._generator is not None:
            self._generator.shuffle(self._order)


def dataset(name, *arguments, **options):
    """Returns `Batches` that `fit` of the network called `name` takes.

    Args:
        name: One of `models.NAMES`.
        *arguments: See `Batches`.
        **options: See `Batches`.
    """
    utils = models.library(name).utils
    # Keras 2 has the same methods in a class of another name.
    base = getattr(utils, "PyDataset", None) or utils.Sequence
    kind = type("Dataset", (Batches, base), {})
    return kind(*arguments, **options)
