# SPDX-License-Identifier: Apache-2.0
"""The images of models/data.py: real, disjoint, and the same every time."""

import numpy as np
import pytest
from sklearn import datasets

import models
from models import batches, data


@pytest.mark.parametrize("kind", [data.Digits, data.Patches])
def test_the_same_seed_gives_the_same_samples(kind):
    x, y = kind(24, seed=5).take(np.arange(6))
    again_x, again_y = kind(24, seed=5).take(np.arange(6))
    other_x, _ = kind(24, seed=6).take(np.arange(6))
    np.testing.assert_array_equal(x, again_x)
    np.testing.assert_array_equal(y, again_y)
    assert not np.array_equal(x, other_x)
    assert x.shape == (6, 24, 24, 3)
    assert x.dtype == np.float32


@pytest.mark.parametrize("kind", [data.Digits, data.Patches])
def test_a_sample_does_not_depend_on_its_batch(kind):
    source = kind(24)
    together = source.take(np.array([3, 7]))
    alone = source.take(np.array([7]))
    np.testing.assert_array_equal(together[0][1:], alone[0])
    np.testing.assert_array_equal(together[1][1:], alone[1])


def test_digits_at_their_own_size_are_the_scans():
    pixels, labels = datasets.load_digits(return_X_y=True)
    x, y = data.Digits(8).take(np.arange(len(data.Digits(8))))
    known = {
        image.tobytes(): label
        for image, label in zip(pixels, labels, strict=True)
    }
    for image, label in zip(x, y, strict=True):
        scan = ((image[..., 0] + 1) * 8).astype(np.float64)
        assert known[scan.tobytes()] == label


def test_digits_are_split_without_overlap():
    train, validation = data.Digits(8), data.Digits(8, "validation")
    assert (len(train), len(validation)) == (1438, 359)
    pixels = np.concatenate(
        [
            source.take(np.arange(len(source)))[0]
            for source in (train, validation)
        ]
    )
    # Every scan is there exactly as often as in the data set.
    scans, _ = datasets.load_digits(return_X_y=True)
    ours = sorted(image[..., 0].tobytes() for image in pixels)
    theirs = sorted(
        (scan.reshape(8, 8) / 8 - 1).astype(np.float32).tobytes()
        for scan in scans
    )
    assert ours == theirs


def test_upscaling_keeps_range_and_constants():
    x, _ = data.Digits(50).take(np.arange(100))
    assert x.min() >= -1 and x.max() <= 1
    weights = data._linear_weights(50, 8)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-6)


def test_patches_are_noisy_pieces_of_the_photograph():
    noisy, clean = data.Patches(32).take(np.arange(20))
    assert clean.min() >= 0 and clean.max() <= 1
    assert np.std(noisy - clean) == pytest.approx(0.1, rel=0.02)
    photograph = (
        datasets.load_sample_image("china.jpg").astype(np.float32) / 255
    )
    windows = np.lib.stride_tricks.sliding_window_view(photograph, (32, 32, 3))
    found = windows[::8, ::8, 0].reshape(-1, 32, 32, 3)
    for patch in clean:
        assert (found == patch).all(axis=(1, 2, 3)).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: data.Digits(8, "test"), "split='test'.*train, validation"),
        (lambda: data.Patches(500), "image=500.*1 to 427"),
        (lambda: batches.Batches(data.Digits(8), 0), "batch=0"),
        (lambda: batches.Batches(data.Digits(8), 4, 2000), "samples=2000"),
    ],
)
def test_bad_arguments_say_what_was_received(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_batches_cover_the_samples_once_an_epoch():
    source = data.Digits(8)
    wanted = sorted(image.tobytes() for image in source.take(np.arange(10))[0])
    fed = batches.Batches(source, 4, samples=10, seed=1)
    orders = []
    for _ in range(2):
        assert len(fed) == 3
        parts = [fed[index][0] for index in range(len(fed))]
        assert [len(part) for part in parts] == [4, 4, 2]
        orders.append([image.tobytes() for image in np.concatenate(parts)])
        assert sorted(orders[-1]) == wanted
        fed.on_epoch_end()
    assert orders[0] != orders[1]


def test_batches_without_a_seed_keep_the_order():
    source = data.Digits(8)
    fed = batches.Batches(source, 4, samples=8)
    x, y = fed[1]
    expected_x, expected_y = source.take(np.arange(4, 8))
    np.testing.assert_array_equal(x, expected_x)
    np.testing.assert_array_equal(y, expected_y)


@pytest.mark.parametrize("name", ["mlp", "bayesian"])
def test_fit_of_either_keras_knows_its_batches(name):
    utils = models.library(name).utils
    kind = utils.PyDataset if name == "mlp" else utils.Sequence
    fed = batches.dataset(name, data.Digits(8), 4, samples=10, seed=1)
    assert isinstance(fed, kind)
    assert len(fed) == 3


def test_every_network_has_images():
    assert isinstance(data.source_for("unet", 32), data.Patches)
    assert isinstance(data.source_for("resnet50", 32), data.Digits)
