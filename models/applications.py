# SPDX-License-Identifier: Apache-2.0
"""The networks of keras.applications, untrained, with logits as output."""

import keras


def _application(constructor, image, classes):
    return constructor(
        weights=None,
        input_shape=(image, image, 3),
        classes=classes,
        classifier_activation=None,
    )


def resnet50(*, image, classes):
    """ResNet-50 (He et al., 2015)."""
    return _application(keras.applications.ResNet50, image, classes)


def resnet152(*, image, classes):
    """ResNet-152 (He et al., 2015)."""
    return _application(keras.applications.ResNet152, image, classes)


def vgg16(*, image, classes):
    """VGG16 with its three dense layers."""
    return _application(keras.applications.VGG16, image, classes)


def densenet121(*, image, classes):
    """DenseNet-121."""
    return _application(keras.applications.DenseNet121, image, classes)


def mobilenetv2(*, image, classes):
    """MobileNetV2, width 1."""
    return _application(keras.applications.MobileNetV2, image, classes)


def inceptionv3(*, image, classes):
    """Inception v3; images of 75x75 and more."""
    return _application(keras.applications.InceptionV3, image, classes)
