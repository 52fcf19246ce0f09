# SPDX-License-Identifier: Apache-2.0
"""Loading: what goes wrong is said, and never ends the process."""

from __future__ import annotations

import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

import sn_tf
from sn_tf import _library

_Run = Callable[[str], subprocess.CompletedProcess[str]]


def test_another_release_of_tensorflow_is_named_with_two_ways_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As the build writes it.
    build_info = types.SimpleNamespace(TF_VERSION="2.21.0")
    monkeypatch.setitem(sys.modules, "sn_tf._build_info", build_info)
    monkeypatch.setattr(tf, "__version__", "2.99.1")
    with pytest.raises(ImportError) as error:
        _library._check_build()
    message = str(error.value)
    for part in (
        "TensorFlow 2.99.1 is installed",
        "compiled for TensorFlow 2.21",
        "pip install 'tensorflow==2.21.*'",
        "build sn_tf against the installed one: pip install",
    ):
        assert part in message


def test_another_patch_of_the_same_release_is_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tf, "__version__", "2.21.99")
    _library._check_version("2.21.0")


def test_a_missing_library_says_how_to_build_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(_library, "_LIBRARY_PATH", tmp_path / "_sn_tf.so")
    with pytest.raises(ImportError, match=r"no file .*_sn_tf.so.*pip install"):
        _library._check_build()


def test_the_library_was_compiled_for_this_tensorflow() -> None:
    compiled = _library.library().compiled_version().split(".")[:2]
    assert compiled == tf.__version__.split(".")[:2]


@pytest.mark.parametrize(
    "before",
    [
        "tf.constant(1.0)",
        "import keras; keras.Sequential([keras.Input((2,)), "
        "keras.layers.Dense(1)])",
        "tf.config.list_logical_devices()",
        "session = tf.compat.v1.Session(graph=tf.Graph())",
        "with tf.Graph().as_default():\n"
        "  shape = tf.compat.v1.placeholder(tf.float32, [2, 3])\n"
        "  tf.get_static_value(tf.shape(shape) + 1)\n"
        "  tf.compat.v1.Session().run(tf.constant(1.0))",
    ],
)
def test_import_after_tensorflow_has_allocated(
    before: str, run_python: _Run
) -> None:
    done = run_python(f"import tensorflow as tf\n{before}\nimport sn_tf")
    assert done.returncode == 1, done.stderr
    assert "RuntimeError: TensorFlow has already allocated" in done.stderr
    assert "put `import sn_tf` right after" in done.stderr


@pytest.mark.parametrize(
    "before",
    [
        "import keras; keras.utils.set_random_seed(1)",
        "import tensorflow as tf; tf.config.list_physical_devices(); "
        "step = tf.function(lambda x: x + 1.0)",
    ],
)
def test_import_before_tensorflow_has_allocated(
    before: str, run_python: _Run
) -> None:
    done = run_python(
        f"{before}\nimport sn_tf\nimport tensorflow as tf\n"
        "kept = tf.zeros([1000])\n"
        "print('in use', sn_tf.stats().in_use_bytes >= 4000)"
    )
    assert done.returncode == 0, done.stderr
    assert "in use True" in done.stdout


def test_only_one_module_touches_private_tensorflow() -> None:
    package = Path(sn_tf.__file__).parent
    private = re.compile(r"tensorflow\.python|ctypes")
    found = [
        path.name
        for path in sorted(package.glob("*.py"))
        if private.search(path.read_text())
    ]
    assert found == ["_library.py"]
