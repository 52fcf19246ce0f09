# SPDX-License-Identifier: Apache-2.0
"""The two ways in which a measurement trains: single steps, and `fit`."""

import contextlib
import dataclasses
import time

import keras

from benchmarks import modes, output, workload

EPOCHS = 2


@dataclasses.dataclass
class Training:
    """What a loop saw.

    Attributes:
        losses: Loss of each step; of each epoch for `fit`.
        step_seconds: Wall time of each step, warm-up included.
        validation_losses: Of each epoch; empty for single steps.
    """

    losses: list = dataclasses.field(default_factory=list)
    step_seconds: list = dataclasses.field(default_factory=list)
    validation_losses: list = dataclasses.field(default_factory=list)


def train_steps(
    model,
    batches,
    steps,
    after_step=lambda: None,
    step_context=contextlib.nullcontext,
):
    """Runs `steps` single steps over `batches` in turn.

    Args:
        model: Compiled model.
        batches: List of (x, y).
        steps: Steps in all.
        after_step: Called after each step.
        step_context: Makes the context manager of each step.

    Returns:
        A `Training`.
    """
    training = Training()
    for step in range(steps):
        x, y = batches[step % len(batches)]
        # Keras averages the loss over all batches since the last reset.
        model.reset_metrics()
        with step_context():
            begin = time.perf_counter()
            loss = float(model.train_on_batch(x, y))
            seconds = time.perf_counter() - begin
        training.losses.append(loss)
        training.step_seconds.append(seconds)
        after_step()
        output.progress(
            f"step {step + 1}/{steps}  loss {loss:.4f}  {seconds:.2f} s"
        )
    return training


class _Clock(keras.callbacks.Callback):
    """Times the steps of `fit`."""

    def __init__(self):
        super().__init__()
        self.seconds = []

    def on_train_batch_begin(self, batch, logs=None):
        self._begin = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        self.seconds.append(time.perf_counter() - self._begin)

    def on_epoch_end(self, epoch, logs=None):
        output.progress(
            f"epoch {epoch + 1}/{EPOCHS}  loss {logs['loss']:.4f}  "
            f"validation loss {logs['val_loss']:.4f}"
        )


def fit(model, options):
    """Runs `model.fit` over `options.samples` samples, twice, shuffled.

    The last batch is partial unless the batch size divides the samples.

    Returns:
        A `Training`.
    """
    x, y = workload.make_samples(options, options.samples)
    held_out = workload.make_samples(
        options, max(1, options.samples // 2), "validation"
    )
    clock = _Clock()
    with modes.fit_context(options):
        history = model.fit(
            x,
            y,
            batch_size=options.batch,
            epochs=EPOCHS,
            shuffle=True,
            validation_data=held_out,
            verbose=0,
            callbacks=[*modes.callbacks(options), clock],
        ).history
    return Training(history["loss"], clock.seconds, history["val_loss"])
