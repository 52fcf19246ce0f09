# SPDX-License-Identifier: Apache-2.0
"""Networks to train under a memory budget, built by name.

    model = models.build("resnet50", image=112, classes=10)

Keras is imported when a model is built, not before, so that this package can
be imported ahead of everything else.
"""

import dataclasses
import importlib
import inspect

CLASSIFICATION = "classification"
DENOISING = "denoising"


@dataclasses.dataclass(frozen=True)
class Entry:
    """One network of the registry.

    Attributes:
        builder: "module:function" below this package. The function takes
            `image` and `classes` and the network's own keyword options.
        task: `CLASSIFICATION` (integer label per image, logits out) or
            `DENOISING` (image in, image out).
        image: Default side of the square input.
        classes: Default number of classes.
        options: The builder's options that are not its own defaults.
        library: Package whose `Model` it is: Keras 3, "keras", or Keras 2,
            "tf_keras".
    """

    builder: str
    task: str = CLASSIFICATION
    image: int = 112
    classes: int = 10
    options: dict = dataclasses.field(default_factory=dict)
    library: str = "keras"


_REGISTRY = {
    "alexnet": Entry("alexnet:alexnet", image=227, classes=1000),
    "bayesian": Entry("bayesian:flipout", library="tf_keras"),
    "densenet121": Entry("applications:densenet121", classes=1000),
    "inceptionv3": Entry("applications:inceptionv3", image=139, classes=1000),
    "inceptionv4": Entry("inception:inceptionv4", image=139, classes=1000),
    "lstm": Entry("lstm:lstm"),
    "mlp": Entry("mlp:mlp", image=32),
    "mobilenetv2": Entry("applications:mobilenetv2", classes=1000),
    "resnet": Entry("resnet:preactivation", image=32),
    "resnet152": Entry("applications:resnet152", classes=1000),
    "resnet50": Entry("applications:resnet50", classes=1000),
    "resnet_imagenet": Entry("resnet:bottleneck", classes=1000),
    "transformer": Entry("transformer:encoder"),
    # A sequence of 512.
    "transformer512": Entry(
        "transformer:encoder", image=128, options={"patch": (8, 4)}
    ),
    "unet": Entry("unet:unet", task=DENOISING),
    "vgg": Entry("vgg:vgg"),
    "vgg16": Entry("applications:vgg16", classes=1000),
}

NAMES = tuple(sorted(_REGISTRY))


def entry(name):
    """Returns the `Entry` of the network called `name`."""
    if name not in _REGISTRY:
        raise ValueError(
            f"Unknown model. Received: name={name!r}. Expected one of "
            f"{', '.join(NAMES)}."
        )
    return _REGISTRY[name]


def library(name):
    """Returns the package that trains the network called `name`: see `Entry`.

    Raises:
        ValueError: If there is no such network.
    """
    return importlib.import_module(entry(name).library)


def build(name, *, image=None, classes=None, **options):
    """Builds a network with fresh weights.

    Args:
        name: One of `NAMES`.
        image: Side of the square RGB input. Defaults to the entry's.
        classes: Number of classes; ignored by denoising networks. Defaults to
            the entry's.
        **options: The network's own options, such as `depth`.

    Returns:
        An uncompiled `Model` of its library: logits for classification, the
        cleaned image for denoising.
    """
    found = entry(name)
    module, function = found.builder.split(":")
    builder = getattr(importlib.import_module(f"{__name__}.{module}"), function)
    accepted = set(inspect.signature(builder).parameters) - {"image", "classes"}
    unknown = sorted(set(options) - accepted)
    if unknown:
        raise ValueError(
            f"Model {name!r} has no option {', '.join(unknown)}. It takes: "
            f"{', '.join(sorted(accepted)) or 'none'}."
        )
    return builder(
        image=found.image if image is None else image,
        classes=found.classes if classes is None else classes,
        **(found.options | options),
    )
