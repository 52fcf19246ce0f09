# SPDX-License-Identifier: Apache-2.0
"""The device of a measurement: the CPU, or the simulated accelerator."""

import contextlib

import tensorflow as tf

import sn_tf
from sn_tf.options import make_options


def configure(options):
    """Makes the simulated device where `options` ask for it.

    To be called before TensorFlow makes its devices.
    """
    if options.device == "sim":
        sn_tf.sim.configure(options.memory, link=options.link)


def name_of(options):
    """The device's name for sn_tf: "CPU:0" or "SIM:0"."""
    return "SIM:0" if options.device == "sim" else "CPU:0"


def budget_bytes(options):
    """The budget that `options` name: "60%" is of the device's memory."""
    # A policy that moves nothing makes no tiers.
    wanted = {
        "budget": options.budget,
        "device": name_of(options),
        "policy": "liveness",
    }
    return make_options(wanted).budget_bytes


def scope(options):
    """Context manager: everything inside is placed on the device."""
    if options.device == "sim":
        return tf.device("/device:SIM:0")
    return contextlib.nullcontext()
