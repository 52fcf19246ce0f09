# SPDX-License-Identifier: Apache-2.0
"""Prints where the installed TensorFlow is and how to build against it.

One `key=value` a line, for CMake and for Bazel: `version`, `include_dir`,
`library_dir`, `framework` (the file to link against), `cc` (the library of
standard ops, for tests only), and `definitions` (space-separated macros that
the ABI depends on).
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

try:
    import tensorflow as tf
except ImportError as error:
    sys.exit(
        f"{sys.executable} cannot import tensorflow ({error}). sn_tf is "
        "compiled against the installed TensorFlow: install it into this "
        "Python, or leave out --no-build-isolation."
    )


def info():
    """Returns the keys and values to print."""
    major = tf.__version__.split(".")[0]
    library_dir = tf.sysconfig.get_lib()
    return {
        "version": tf.__version__,
        "include_dir": tf.sysconfig.get_include(),
        "library_dir": library_dir,
        "framework": os.path.join(
            library_dir, f"libtensorflow_framework.so.{major}"
        ),
        "cc": os.path.join(library_dir, f"libtensorflow_cc.so.{major}"),
        "definitions": " ".join(
            flag[2:]
            for flag in tf.sysconfig.get_compile_flags()
            if flag.startswith("-D")
        ),
    }


for key, value in info().items():
    print(f"{key}={value}")
