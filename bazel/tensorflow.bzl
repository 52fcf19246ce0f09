# SPDX-License-Identifier: Apache-2.0
"""Finds the installed TensorFlow and makes it a repository."""

_BUILD = """
package(default_visibility = ["//visibility:public"])

cc_library(
    name = "framework",
    srcs = ["{framework}"],
    hdrs = glob(["include/**"]),
    defines = {definitions},
    includes = ["include"],
)
"""

def _tensorflow_impl(ctx):
    python = ctx.os.environ.get("PYTHON_BIN_PATH") or ctx.which("python3")
    script = ctx.path(Label("//:cmake/tensorflow_info.py"))
    found = ctx.execute([python, script])
    if found.return_code != 0:
        fail("No TensorFlow for {}. Set PYTHON_BIN_PATH to a Python that has one. {}".format(
            python,
            found.stderr,
        ))
    info = dict([
        line.split("=", 1)
        for line in found.stdout.splitlines()
        if "=" in line
    ])
    framework = info["framework"].split("/")[-1]
    ctx.symlink(info["include_dir"], "include")
    ctx.symlink(info["framework"], framework)
    ctx.file("BUILD", _BUILD.format(
        definitions = repr(info["definitions"].split(" ")),
        framework = framework,
    ))
    ctx.file("version.bzl", "TENSORFLOW_VERSION = {}\n".format(
        repr(info["version"]),
    ))

tensorflow = repository_rule(
    implementation = _tensorflow_impl,
    environ = ["PYTHON_BIN_PATH", "PYTHONPATH"],
    local = True,
)
