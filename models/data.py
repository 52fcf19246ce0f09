# SPDX-License-Identifier: Apache-2.0
"""Real images that need no network, at any size.

Both sources ship with scikit-learn: 1,797 scanned handwritten digits for
classification, and two photographs for denoising. Samples are made when they
are asked for, so a large image size costs memory for one batch only. The same
split, size and seed give the same samples in the same order.
"""

import numpy as np

import models

SPLITS = ("train", "validation")
_VALIDATION_SHARE = 0.2
_NOISE_STDDEV = 0.1


def _check_split(split):
    if split not in SPLITS:
        raise ValueError(
            f"Unknown split. Received: split={split!r}. Expected one of "
            f"{', '.join(SPLITS)}."
        )


def _linear_weights(size, source):
    """Matrix (size, source) that resamples a line linearly, ends clamped."""
    position = np.clip(
        (np.arange(size) + 0.5) * source / size - 0.5, 0, source - 1
    )
    left = np.minimum(position.astype(int), source - 2)
    weights = np.zeros((size, source), np.float32)
    weights[np.arange(size), left] = 1 - (position - left)
    weights[np.arange(size), left + 1] = position - left
    return weights


class Digits:
    """scikit-learn's 8x8 digits, upscaled to RGB images in [-1, 1].

    Args:
        image: Side of the images.
        split: "train" (1,438 digits) or "validation" (359).
        seed: Decides the order and which digits validate.
    """

    def __init__(self, image, split="train", seed=0):
        """See the class."""
        from sklearn import datasets

        _check_split(split)
        pixels, labels = datasets.load_digits(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(labels))
        held_out = int(len(labels) * _VALIDATION_SHARE)
        chosen = order[held_out:] if split == "train" else order[:held_out]
        self._pixels = (
            pixels[chosen].reshape(-1, 8, 8).astype(np.float32) / 8 - 1
        )
        self._labels = labels[chosen].astype(np.int32)
        self._weights = _linear_weights(image, 8)

    def __len__(self):
        """Number of samples."""
        return len(self._labels)

    def take(self, indices):
        """Returns images (n, image, image, 3) and labels (n,)."""
        scaled = self._weights @ self._pixels[indices] @ self._weights.T
        return np.repeat(scaled[..., np.newaxis], 3, axis=-1), self._labels[
            indices
        ]


class Patches:
    """Square pieces of a photograph in [0, 1], with Gaussian noise added.

    Training and validation use different photographs, so no pixel is in both.

    Args:
        image: Side of the patches, at most 427.
        split: "train" (the photograph china.jpg) or "validation" (flower.jpg).
        seed: Decides the order and the noise.
    """

    def __init__(self, image, split="train", seed=0):
        """See the class."""
        from sklearn import datasets

        _check_split(split)
        name = "china.jpg" if split == "train" else "flower.jpg"
        self._photograph = (
            datasets.load_sample_image(name).astype(np.float32) / 255
        )
        height, width = self._photograph.shape[:2]
        if not 1 <= image <= min(height, width):
            raise ValueError(
                f"Patches are cut from a photograph of {height}x{width}. "
                f"Received: image={image}. Expected 1 to "
                f"{min(height, width)}."
            )
        stride = max(1, image // 4)
        corners = [
            (y, x)
            for y in range(0, height - image + 1, stride)
            for x in range(0, width - image + 1, stride)
        ]
        self._corners = np.random.default_rng(seed).permutation(
            np.array(corners)
        )
        self._image = image
        self._seed = seed

    def __len__(self):
        """Number of samples."""
        return len(self._corners)

    def take(self, indices):
        """Returns noisy and clean patches, (n, image, image, 3) each."""
        clean = np.stack(
            [
                self._photograph[y : y + self._image, x : x + self._image]
                for y, x in self._corners[indices]
            ]
        )
        noise = np.stack([self._noise(index) for index in np.asarray(indices)])
        return clean + noise, clean

    def _noise(self, index):
        # Seeded by the sample, so that it does not depend on the batch.
        generator = np.random.default_rng((self._seed, int(index)))
        return generator.normal(
            0, _NOISE_STDDEV, (self._image, self._image, 3)
        ).astype(np.float32)


def source_for(name, image=None, split="train", seed=0):
    """Returns the images that the network called `name` is trained on."""
    found = models.entry(name)
    kind = Patches if found.task == models.DENOISING else Digits
    return kind(found.image if image is None else image, split, seed)
