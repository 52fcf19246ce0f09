# SPDX-License-Identifier: Apache-2.0
"""Whole networks on the simulated device: the CPU's bits, and no byte copied
that a GPU would not copy too.

What is copied follows from which arguments an op has in host memory, and the
device has that from TensorFlow's definitions of its kernels for GPUs.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from programs import START

_BATCH = 2
_IMAGE = 32
_LOSS_BYTES = 4
_FLOAT_BYTES = _INT_BYTES = 4

# Without soft placement, an op that has no kernel on the device is an error.
_TRAIN = f"""
{START}
import models
from benchmarks import workload
from models import recipe

def train(device, name, options, steps=3):
    set_out()
    with tf.device(f"/device:{{device}}"):
        model = models.build(name, image={_IMAGE}, classes=7, **options)
        recipe.compile_model(model, name, "adam", metrics=False)
        x = np.random.rand({_BATCH}, {_IMAGE}, {_IMAGE}, 3).astype("float32")
        denoising = models.entry(name).task == models.DENOISING
        y = x if denoising else np.arange({_BATCH}, dtype="int32")
        losses, copied = train_and_count(model, x, y, steps)
    variables = [*model.variables, *model.optimizer.variables]
    return {{
        "devices": list({{v.value.device[-5:] for v in variables}}),
        "weights": workload.weights_sha256(model),
        "losses": losses,
        "copied": copied,
    }}

sn_tf.sim.configure("1GB", link="unlimited")
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.set_soft_device_placement(False)
"""

_IMAGES_BYTES = _BATCH * _IMAGE * _IMAGE * 3 * _FLOAT_BYTES
_LABELS_BYTES = _BATCH * _INT_BYTES


def _dropout(layers: int) -> tuple[int, int]:
    """Bytes to the device and to the host in each step.

    StatelessRandomGetKeyCounter has all its arguments in host memory: it reads
    the seed, two int32, and makes a key, one uint64, and a counter, two.
    """
    return 24 * layers, 8 * layers


def _two_loops() -> tuple[int, int]:
    """Of two LSTM layers, each a loop over the image's rows, likewise.

    Numbers of type int32 are computed in host memory, what is logical on the
    device. Before each row, and at the end, a loop compares two counters with
    their limits; the device combines the two results and the host branches.

    For its gradient a loop keeps on the device, for each row, the index at
    which it wrote (the lower layer) or read (the upper layer). The upper layer,
    whose inputs have a gradient, keeps the length and the shape, two numbers,
    of the list of rows that it read from as well. The gradient's loop reads
    them on the host.
    """
    kept = _IMAGE * (1 + 1 + 1 + 2) * _INT_BYTES
    conditions = 2 * (_IMAGE + 1)
    return 2 * conditions + kept, conditions + kept


@pytest.mark.parametrize(
    ("name", "options", "batch_bytes", "extra"),
    [
        ("resnet50", {}, _IMAGES_BYTES + _LABELS_BYTES, (0, 0)),
        ("unet", {"filters": 4}, 2 * _IMAGES_BYTES, (0, 0)),
        (
            "transformer",
            {"depth": 2, "width": 24},
            _IMAGES_BYTES + _LABELS_BYTES,
            # On the attention's weights and on both branches of each block.
            _dropout(2 * 3),
        ),
        ("lstm", {"width": 16}, _IMAGES_BYTES + _LABELS_BYTES, (0, 0)),
        (
            "lstm",
            {"width": 16, "unroll": False},
            _IMAGES_BYTES + _LABELS_BYTES,
            _two_loops(),
        ),
    ],
)
def test_a_network_is_trained_there_and_nowhere_else(
    results: Callable[[str], Any],
    name: str,
    options: dict[str, Any],
    batch_bytes: int,
    extra: tuple[int, int],
) -> None:
    of_device = f"{name!r}, {options!r}"
    cpu, sim = results(
        _TRAIN
        + f"""
print(json.dumps([train(d, {of_device}) for d in ("CPU:0", "SIM:0")]))
"""
    )
    assert sim["devices"] == ["SIM:0"]
    assert sim["losses"] == cpu["losses"]
    assert sim["weights"] == cpu["weights"]
    assert cpu["copied"] == [[0, 0]] * 3
    to_device, to_host = extra
    each_step = [batch_bytes + to_device, _LOSS_BYTES + to_host]
    assert sim["copied"][1:] == [each_step] * 2


def test_kernels_say_of_themselves_what_those_for_gpus_do(
    results: Callable[[str], Any],
) -> None:
    # Types, arguments in host memory, priorities, labels. Fused ops are the
    # CPU's, and three of our own have no kernels for GPUs.
    of_gpu, of_sim = results(
        textwrap.dedent("""
            import json, sn_tf
            from tensorflow.python.framework import kernels
            sn_tf.sim.configure("64MB")
            registered = kernels.get_all_registered_kernels().kernel
            shared = {
                k.op for k in registered if k.device_type == "CPU"
                and not k.op.startswith((
                    "_Mkl", "_Fused", "_Unary", "SnKeep", "SnHold", "SnSplat"
                ))
            }
            def described(device):
                for kernel in registered:
                    if kernel.device_type == device and kernel.op in shared:
                        kernel.ClearField("device_type")
                        yield str(kernel)
            print(json.dumps([
                sorted(described(device)) for device in ("GPU", "SIM")
            ]))
        """)
    )
    assert len(of_sim) > 4000
    assert of_sim == of_gpu
