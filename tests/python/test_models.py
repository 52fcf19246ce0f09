# SPDX-License-Identifier: Apache-2.0
"""Every network of models/ builds, has its shapes, and trains a step."""

import inspect
import math

import commands
import keras
import numpy as np
import pytest

import models
from models import recipe, transformer

_OWN = (
    "bayesian",
    "lstm",
    "mlp",
    "resnet",
    "resnet_imagenet",
    "transformer",
    "transformer512",
    "unet",
    "vgg",
)
_APPLICATIONS = sorted(set(models.NAMES) - set(_OWN))


def _build_small(name):
    options = {
        "bayesian": {"width": 4},
        "lstm": {"width": 16, "rows": 4},
        "resnet": {"depth": 11},
        "transformer": {"depth": 1},
        "transformer512": {"depth": 1},
        "unet": {"filters": 4},
        "vgg": {"width": 0.25},
    }
    return models.build(name, image=32, classes=7, **options.get(name, {}))


@pytest.mark.parametrize("name", [*_OWN, "mobilenetv2"])
def test_trains_a_step(name):
    models.library(name).utils.set_random_seed(0)
    model = recipe.compile_model(_build_small(name), name, "momentum")
    x = np.random.default_rng(0).random((2, 32, 32, 3), np.float32)
    denoising = models.entry(name).task == models.DENOISING
    before = [weight.numpy() for weight in model.trainable_variables]
    loss = model.train_on_batch(x, x if denoising else np.array([1, 5]))
    assert np.all(np.isfinite(loss))
    after = [weight.numpy() for weight in model.trainable_variables]
    changed = sum(
        not np.array_equal(a, b) for a, b in zip(before, after, strict=True)
    )
    assert changed > len(before) / 2


@pytest.mark.parametrize("name", models.NAMES)
def test_output_shape(name):
    side = 80 if name in _APPLICATIONS else 32
    model = models.build(name, image=side, classes=7)
    denoising = models.entry(name).task == models.DENOISING
    assert model.output_shape == (
        (None, side, side, 3) if denoising else (None, 7)
    )


@pytest.mark.parametrize("name", _OWN)
def test_the_seed_decides_the_weights(name):
    weights = []
    for seed in (3, 3, 4):
        models.library(name).utils.set_random_seed(seed)
        built = _build_small(name).get_weights()
        weights.append(np.concatenate([weight.ravel() for weight in built]))
    np.testing.assert_array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])


def _trained_parameters(model):
    return sum(math.prod(weight.shape) for weight in model.trainable_variables)


@pytest.mark.parametrize(
    ("name", "options", "published"),
    [
        ("inceptionv4", {}, 42_679_816),
        ("resnet_imagenet", {"depth": 50}, 25_557_032),
        ("resnet_imagenet", {"depth": 152}, 60_192_808),
        # With a bias in each convolution.
        ("resnet152", {}, 60_192_808 + 75_712),
    ],
)
def test_networks_have_the_published_number_of_parameters(
    name, options, published
):
    model = models.build(name, image=96, classes=1000, **options)
    assert _trained_parameters(model) == published


def test_inception_v4_has_the_grids_of_the_paper():
    model = models.build("inceptionv4", image=299)
    grids = [
        layer.output.shape[1:]
        for layer in model.layers
        if isinstance(layer, keras.layers.Concatenate)
    ]
    assert grids == [
        (73, 73, 160),
        (71, 71, 192),
        *[(35, 35, 384)] * (1 + 4),
        *[(17, 17, 1024)] * (1 + 7),
        *[(8, 8, 1536)] * (1 + 3),
    ]


def test_the_transformers_have_their_sequences():
    for name, image, sequence in (
        ("transformer", 112, 14 * 14),
        ("transformer512", 128, 512),
    ):
        model = models.build(name, depth=1)
        (positions,) = (
            layer.embedding
            for layer in model.layers
            if isinstance(layer, transformer.PositionEmbedding)
        )
        assert model.input_shape == (None, image, image, 3)
        assert positions.shape == (sequence, 192)


def test_a_bayesian_network_draws_weights_for_each_image_and_call():
    models.library("bayesian").utils.set_random_seed(0)
    model = models.build("bayesian", image=8, width=2)
    image = np.random.default_rng(0).random((1, 8, 8, 3), np.float32)
    first = model(np.repeat(image, 2, axis=0)).numpy()
    second = model(np.repeat(image, 2, axis=0)).numpy()
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], second[0])


def test_a_bayesian_network_shares_its_divergence_among_the_samples():
    images, labels = np.ones((2, 8, 8, 3), np.float32), np.zeros(2)
    divergences = []
    for samples in (100, 200):
        models.library("bayesian").utils.set_random_seed(0)
        model = models.build("bayesian", image=8, width=2, samples=samples)
        model.compile(loss=lambda label, logits: 0 * logits)
        divergences.append(model.test_on_batch(images, labels))
    assert divergences[1] > 0
    assert divergences[0] == pytest.approx(2 * divergences[1])


def test_the_imagenet_resnet_is_the_published_one():
    ours = models.build("resnet_imagenet", image=64, classes=1000)
    # keras.applications' has a bias in each of its 53 convolutions.
    theirs = models.build("resnet50", image=64, classes=1000)
    biases = sum(
        layer.bias.shape[0]
        for layer in theirs.layers
        if isinstance(layer, keras.layers.Conv2D)
    )
    assert ours.count_params() == theirs.count_params() - biases


@pytest.mark.parametrize("depth", [11, 20, 47])
def test_the_cifar_resnet_has_the_depth_asked_for(depth):
    model = models.build("resnet", image=8, classes=10, depth=depth)
    projections = 3  # One per stage, not counted as depth.
    weighted = [
        layer
        for layer in model.layers
        if isinstance(layer, keras.layers.Conv2D | keras.layers.Dense)
    ]
    assert len(weighted) - projections == depth


@pytest.mark.parametrize("depth", [1, 3])
def test_an_unrolled_lstm_computes_what_its_loops_do(depth):
    x = np.random.default_rng(0).random((2, 8, 8, 3), np.float32)
    outputs = []
    for unroll in (True, False):
        keras.utils.set_random_seed(0)
        model = models.build(
            "lstm", image=8, depth=depth, width=4, rows=2, unroll=unroll
        )
        assert len(model.layers) == depth + 3
        outputs.append(model(x).numpy())
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bayesian", {"image": 7}, "image=7.*at least 8"),
        ("inceptionv4", {"image": 74}, "image=74.*at least 75"),
        ("lenet", {}, "name='lenet'.*resnet50"),
        ("lstm", {"image": 30, "rows": 4}, "image=30, rows=4"),
        ("mlp", {"patch": 3}, "no option patch.*depth, width"),
        ("resnet", {"depth": 50}, "depth=50.*nearest is 47"),
        ("resnet_imagenet", {"depth": 34}, "depth=34.*50, 101 or 152"),
        ("vgg", {"depth": 12}, "depth=12"),
        ("vgg", {"image": 16}, "image=16"),
        ("unet", {"image": 40}, "image=40.*multiple of 16"),
        ("transformer", {"image": 30}, "image=30, patch=8"),
        ("transformer", {"width": 64, "heads": 3}, "width=64, heads=3"),
    ],
)
def test_bad_options_say_what_was_received(name, options, message):
    with pytest.raises(ValueError, match=message):
        models.build(name, **options)


def test_every_builder_takes_options_by_keyword_only():
    for name in models.NAMES:
        module, function = models.entry(name).builder.split(":")
        builder = getattr(
            __import__(f"models.{module}", fromlist=[function]), function
        )
        kinds = {
            parameter.kind
            for parameter in inspect.signature(builder).parameters.values()
        }
        assert kinds == {inspect.Parameter.KEYWORD_ONLY}, name


@pytest.mark.parametrize("name", ["mlp", "bayesian"])
def test_networks_of_both_keras_are_trained_by_the_command(name):
    done = commands.run(
        *("models.train", "--model", name, "--image", 16, "--batch", 4),
        *("--samples", 6, "--budget", "1GB"),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "val_loss: " in done.stdout
    assert "| budget | 1.0 GB |" in done.stdout


@pytest.mark.parametrize("name", recipe.OPTIMIZERS)
def test_optimizers(name):
    optimizer = recipe.make_optimizer(name, learning_rate=0.25)
    assert float(optimizer.learning_rate) == 0.25


def test_an_unknown_optimizer_is_refused():
    with pytest.raises(ValueError, match="name='lion'.*sgd, momentum, adam"):
        recipe.make_optimizer("lion")
