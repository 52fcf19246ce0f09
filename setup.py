# SPDX-License-Identifier: Apache-2.0
"""Builds the library with CMake and Ninja and packs it beside the Python."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

_ROOT = Path(__file__).parent.resolve()


class CMakeBuild(build_ext):
    """Builds `_sn_tf.so` and `_build_info.py`.

    More arguments for CMake are read from the variable `CMAKE_ARGS`.
    """

    def get_ext_filename(self, fullname: str) -> str:
        """The library's path; without Python's version, whose API it shuns."""
        return str(Path(*fullname.split(".")).with_suffix(".so"))

    def build_extension(self, ext: Extension) -> None:
        """Configures, compiles, and copies what was built."""
        # For development one tree is kept, that of `make cc-test`.
        kept = self.editable_mode or self.inplace
        tree = _ROOT / "build/cmake" if kept else Path(self.build_temp)
        tree = tree.resolve()
        ninja = shutil.which("ninja")
        if ninja is None:
            sys.exit("ninja is missing: pip install ninja")
        subprocess.run(
            [
                "cmake",
                "-S",
                str(_ROOT),
                "-B",
                str(tree),
                "-G",
                "Ninja",
                # A kept tree remembers one that pip has deleted since.
                f"-DCMAKE_MAKE_PROGRAM={ninja}",
                f"-DPython3_EXECUTABLE={sys.executable}",
                *shlex.split(os.environ.get("CMAKE_ARGS", "")),
            ],
            check=True,
        )
        subprocess.run(
            ["cmake", "--build", str(tree), "--target", "_sn_tf"], check=True
        )
        library = Path(self.get_ext_fullpath(ext.name))
        self._copy(tree / "sn_tf" / library.name, library)
        self._copy(
            tree / "sn_tf/_build_info.py",
            library.with_name("_build_info.py"),
        )

    def copy_extensions_to_source(self) -> None:
        """Puts what was built into the checkout, for development."""
        super().copy_extensions_to_source()
        built = Path(self.build_lib, "sn_tf/_build_info.py")
        self._copy(built, _ROOT / "sn_tf/_build_info.py")

    def get_outputs(self) -> list[str]:
        """The files that were built."""
        info = str(Path(self.build_lib, "sn_tf/_build_info.py"))
        return [*super().get_outputs(), info]

    def _copy(self, source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        # A process may have the old file mapped; it keeps it.
        target.unlink(missing_ok=True)
        shutil.copy2(source, target)


class PlatformWheel(bdist_wheel):
    """A wheel of one platform and any Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """The library uses no Python API, so only the platform counts."""
        return ("py3", "none", super().get_tag()[2])


setup(
    ext_modules=[Extension("sn_tf._sn_tf", sources=[])],
    cmdclass={"build_ext": CMakeBuild, "bdist_wheel": PlatformWheel},
)
