#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds _sn_tf.so with Debian's Bazel (bazel-bootstrap), without a network:
# the repositories that Bazel would fetch are Debian's packages, or stand-ins.
#
#   PYTHON_BIN_PATH=.venv/bin/python bazel/build.sh [OUTPUT_BASE]
set -euo pipefail
cd "$(dirname "$0")/.."
output_base=$(realpath -m "${1:-build/bazel}")
PYTHON_BIN_PATH=$(realpath -s "$(command -v "${PYTHON_BIN_PATH:-python3}")")
export PYTHON_BIN_PATH
share=/usr/share/bazel

bazel --batch --output_base="$output_base" build //:_sn_tf.so \
  --spawn_strategy=local --symlink_prefix=/ --color=no --curses=no \
  --override_repository=rules_cc="$PWD/bazel/rules_cc" \
  --override_repository=rules_java="$share/rules/java" \
  --override_repository=rules_proto="$share/rules/proto" \
  --override_repository=platforms="$share/platforms"
