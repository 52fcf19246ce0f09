# SPDX-License-Identifier: Apache-2.0
"""What Keras does with a model, on the simulated device as on the CPU."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

_START = """
import hashlib, json, keras, numpy as np, tempfile, tensorflow as tf
import sn_tf

layers = keras.layers
random = np.random.default_rng(0)
x = random.random((10, 16, 16, 3)).astype("float32")
y = random.integers(0, 5, 10).astype("int32")

def classifier(*hidden, shape=(16, 16, 3), dtype=None, metrics=("accuracy",)):
    model = keras.Sequential([
        layers.Input(shape, dtype=dtype), *hidden,
        layers.Flatten(), layers.Dense(5),
    ])
    model.compile(
        keras.optimizers.Adam(0.01),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=metrics,
    )
    return model

def convolutional():
    return classifier(
        layers.Conv2D(8, 3), layers.BatchNormalization(), layers.ReLU(),
        layers.MaxPooling2D(), layers.Dropout(0.2),
        layers.Conv2DTranspose(4, 2, strides=2),
    )

def of_text(*hidden, **options):
    return classifier(
        layers.Embedding(20, 8, **options), *hidden,
        shape=(6,), dtype="int32",
    )

def bits(*arrays):
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()

def state(model):
    return bits(*[
        v.numpy() for v in [*model.variables, *model.optimizer.variables]
    ])

def trained(model, *data, **options):
    # The last batch is partial.
    history = model.fit(*data or (x, y), batch_size=4, epochs=2, verbose=0,
                        **options)
    return [history.history, state(model)]

def alike(work):
    results = []
    for device in ("CPU:0", "SIM:0"):
        keras.utils.set_random_seed(1)
        with tf.device(f"/device:{device}"):
            before = sn_tf.stats("SIM:0").link
            results.append(json.loads(json.dumps(work())))
            link = sn_tf.stats("SIM:0").link.since(before)
        assert (link.to_device_bytes > 0) == (device == "SIM:0")
    return results

sn_tf.sim.configure("256MB", link="unlimited")
tf.config.threading.set_inter_op_parallelism_threads(1)
"""

_WORK = {
    "fit, evaluate and predict": """
        def work():
            model = convolutional()
            return [
                trained(model, validation_split=0.25),
                model.evaluate(x, y, batch_size=4, verbose=0),
                bits(model.predict(x, batch_size=4, verbose=0)),
            ]
    """,
    "tf.data": """
        def work():
            data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(10, 3)
            data = data.map(lambda a, b: (2 * a, b)).batch(4).prefetch(1)
            model = convolutional()
            history = model.fit(data, epochs=2, verbose=0)
            return [history.history, state(model)]
    """,
    "mixed_bfloat16": """
        def work():
            keras.mixed_precision.set_global_policy("mixed_bfloat16")
            return trained(convolutional())
    """,
    "mixed_float16": """
        def work():
            keras.mixed_precision.set_global_policy("mixed_float16")
            model = convolutional()
            scaled = keras.optimizers.LossScaleOptimizer
            assert isinstance(model.optimizer, scaled)
            return trained(model)
    """,
    "sequences": """
        def work():
            words = np.random.default_rng(1).integers(0, 20, (10, 6))
            words = words.astype("int32")
            return [
                trained(of_text(*hidden, **options), words, y)
                for hidden, options in [
                    ([layers.GRU(8)], {"mask_zero": True}),
                    ([layers.Bidirectional(layers.LSTM(
                        8, dropout=0.1, recurrent_dropout=0.1))], {}),
                    ([layers.GRU(8, unroll=True)], {}),
                    ([layers.Conv1D(8, 3), layers.Conv1DTranspose(8, 3)], {}),
                ]
            ]
    """,
    "saved": """
        def work():
            model = convolutional()
            trained(model)
            with tempfile.TemporaryDirectory() as folder:
                model.save(f"{folder}/model.keras")
                model.save_weights(f"{folder}/of.weights.h5")
                model.export(f"{folder}/exported", verbose=False)
                loaded = keras.models.load_model(f"{folder}/model.keras")
                other = convolutional()
                other.load_weights(f"{folder}/of.weights.h5")
                exported = tf.saved_model.load(f"{folder}/exported")
                served = exported.serve(x)
            weights = bits(*model.get_weights())
            assert bits(*loaded.get_weights()) == weights
            assert bits(*other.get_weights()) == weights
            places = {w.value.device for w in [*loaded.weights, *other.weights]}
            assert places == {model.weights[0].value.device}
            return [bits(served.numpy()), trained(loaded)]
    """,
}


@pytest.mark.parametrize("name", _WORK)
def test_the_device_computes_what_the_cpu_does(
    results: Callable[[str], Any], name: str
) -> None:
    cpu, sim = results(
        _START + textwrap.dedent(_WORK[name]) + "print(json.dumps(alike(work)))"
    )
    assert sim == cpu


def test_fit_copies_the_batch_and_the_loss(
    results: Callable[[str], Any],
) -> None:
    copied, batch_bytes = results(
        _START
        + textwrap.dedent("""
            copied = []
            class Links(keras.callbacks.Callback):
                def on_train_batch_begin(self, batch, logs=None):
                    self.before = sn_tf.stats("SIM:0").link
                def on_train_batch_end(self, batch, logs=None):
                    link = sn_tf.stats("SIM:0").link.since(self.before)
                    copied.append([link.to_device_bytes, link.to_host_bytes])

            with sn_tf.sim.scope():
                model = classifier(layers.Conv2D(8, 3), metrics=None)
                model.fit(x, y, batch_size=5, epochs=2, verbose=0,
                          callbacks=[Links()])
            print(json.dumps([copied, (x.nbytes + y.nbytes) // 2]))
        """)
    )
    # Keras asks whether there were results at all. The answer is computed in
    # host memory but is a tensor of the device, from where it is read.
    answer_bytes, loss_bytes = 1, 4
    each_step = [batch_bytes + answer_bytes, loss_bytes + answer_bytes]
    assert copied[1:] == [each_step] * 3
