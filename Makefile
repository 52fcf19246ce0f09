# SPDX-License-Identifier: Apache-2.0
#
#   make test   everything that continuous integration checks
#   make demo   trains within a budget in which stock TensorFlow fails
#   make build  .venv with sn_tf built into it, for development
#   make fuzz   each fuzz target for FUZZ_SECONDS, ten minutes unless told
#   make stress the pool under stress, STRESS_SECONDS under each sanitizer
# and the parts of `make test`: lint cc-test bazel wheel-test py-test. Needs
# Python 3.11 or newer.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CC_TREE := build/cmake
FUZZ_TREE := build/fuzz
FUZZ_SECONDS ?= 600
CXX_FILES = $(shell git ls-files '*.cc' '*.h')
# What must hold on every device alike.
CONFORMANCE := $(addprefix tests/python/test_,swap_ops.py training.py \
  first_step.py functions.py oom.py)
PY_FOLDERS = sn_tf models benchmarks tests cmake setup.py

DEMO_PACKAGES := g++ python3-venv
TEST_PACKAGES := $(DEMO_PACKAGES) bazel-bootstrap bazel-platforms \
  bazel-rules-java bazel-rules-proto binutils ccache clang-format cmake git \
  libgtest-dev ninja-build
FUZZ_PACKAGES := clang cmake libclang-rt-dev ninja-build

# Python's cmake and ninja before the system's, for a tree used by both.
USE_VENV := export PATH="$(CURDIR)/$(BIN):$$PATH";

CC_CONFIGURE = $(USE_VENV) cmake -S . -B $(CC_TREE) -G Ninja \
  -DSN_TF_TESTS=ON -DPython3_EXECUTABLE=$(CURDIR)/$(BIN)/python $(CMAKE_ARGS)

STRESS_SECONDS ?= 60

export TF_CPP_MIN_LOG_LEVEL ?= 2

.PHONY: test demo build lint cc-test py-test bazel wheel-test fuzz stress \
  clean

test: export CMAKE_ARGS := -DSN_TF_WERROR=ON
test:
	.ci/system_packages $(TEST_PACKAGES)
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory cc-test
	$(MAKE) --no-print-directory bazel
	$(MAKE) --no-print-directory wheel-test
	$(MAKE) --no-print-directory py-test

demo:
	.ci/system_packages $(DEMO_PACKAGES)
	$(MAKE) --no-print-directory build
	$(BIN)/python -m benchmarks.demo

# Python packages change with pyproject.toml; the library is looked at always,
# and Ninja compiles what is new.
build: $(VENV)/packages
	$(USE_VENV) pip install --quiet --no-build-isolation --no-deps -e .

$(VENV)/packages: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb")); print(*project["build-system"]["requires"], sep="\n")' > $(VENV)/build-requirements.txt
	$(BIN)/pip install --quiet -r $(VENV)/build-requirements.txt
	$(USE_VENV) pip install --quiet --no-build-isolation -e '.[dev]'
	touch $@

lint: $(VENV)/packages
	$(BIN)/ruff check $(PY_FOLDERS)
	$(BIN)/ruff format --check $(PY_FOLDERS)
	$(BIN)/mypy
	clang-format --dry-run -Werror $(CXX_FILES)

cc-test: $(VENV)/packages
	$(CC_CONFIGURE)
	$(USE_VENV) cmake --build $(CC_TREE)
	$(USE_VENV) ctest --test-dir $(CC_TREE) -j 2 \
	  --output-on-failure

stress: $(VENV)/packages
	$(CC_CONFIGURE)
	$(USE_VENV) cmake --build $(CC_TREE) \
	  --target pool_stress_test_tsan pool_stress_test_asan
	for sanitizer in tsan asan; do \
	  SN_TF_STRESS_SECONDS=$(STRESS_SECONDS) TSAN_OPTIONS=halt_on_error=1 \
	    $(CC_TREE)/tests/cc/pool_stress_test_$$sanitizer; \
	done

bazel: $(VENV)/packages
	PYTHON_BIN_PATH=$(BIN)/python bazel/build.sh

wheel-test: $(VENV)/packages
	$(USE_VENV) .ci/check_wheel $(BIN)/python

py-test: build
	$(BIN)/pytest -n 2
	$(BIN)/pytest -n 2 --device SIM:0 $(CONFORMANCE)

fuzz:
	.ci/system_packages $(FUZZ_PACKAGES)
	cmake -S . -B $(FUZZ_TREE) -G Ninja -DSN_TF_FUZZ=ON \
	  -DCMAKE_CXX_COMPILER=clang++ >/dev/null
	cmake --build $(FUZZ_TREE)
	tests/fuzz/run $(FUZZ_TREE) $(FUZZ_SECONDS)

clean:
	rm -rf build dist *.egg-info sn_tf/_sn_tf.so sn_tf/_build_info.py
