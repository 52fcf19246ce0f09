# SPDX-License-Identifier: Apache-2.0
"""Beginnings of programs that tests run in processes of their own.

TensorFlow makes its devices once in a process, so a test of simulated devices
configures them in its own.
"""

START = """
import contextlib, gc, json, keras, numpy as np, tensorflow as tf
import sn_tf

layers = keras.layers

def set_out(seed=1):
    # As in a fresh process: models of before are gone.
    keras.backend.clear_session()
    gc.collect()
    keras.utils.set_random_seed(seed)

def train_and_count(model, x, y, steps):
    # Losses, and per step the bytes to SIM:0 and to the host.
    losses, copied = [], []
    for _ in range(steps):
        before = sn_tf.stats("SIM:0").link
        losses.append(float(model.train_on_batch(x, y)))
        link = sn_tf.stats("SIM:0").link.since(before)
        copied.append([link.to_device_bytes, link.to_host_bytes])
    return losses, copied

def hexadecimal(model):
    return [weight.numpy().tobytes().hex() for weight in model.weights]
"""
