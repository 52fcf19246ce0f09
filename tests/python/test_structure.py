# SPDX-License-Identifier: Apache-2.0
"""The rooms of the project keep their rules.

Who may include whom is written once, as the deps in BUILD; here the includes
are held against it, and the shape of the whole against the design.
"""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "sn_tf/_sn_tf.so"
TENSORFLOW = "@tensorflow//:framework"

# The design's arrows. `contract` is what the pass, the device and the kernels
# share.
ROOMS = {
    "core": set(),
    "pool": {"core"},
    "planner": {"core"},
    "allocator": {"core", TENSORFLOW},
    "contract": {TENSORFLOW},
    "device": {"core", "pool", "allocator", "contract", TENSORFLOW},
    "ops": {"core", "pool", "allocator", "contract", TENSORFLOW},
    "pass": {"core", "allocator", "contract", "planner", TENSORFLOW},
    "capi": {
        "core",
        "pool",
        "allocator",
        "device",
        "pass",
        "planner",
        TENSORFLOW,
    },
}


def _glob(patterns, exclude=()):
    found = {
        str(path.relative_to(ROOT))
        for pattern in patterns
        for path in ROOT.glob(pattern)
    }
    return sorted(found - set(exclude))


@pytest.fixture(scope="module")
def bazel_rules():
    """The rules of BUILD by name: Starlark is Python, with other builtins."""
    rules = {}

    def rule(name, **attributes):
        rules[name] = attributes

    names = {
        "TENSORFLOW_VERSION": "",
        "cc_binary": rule,
        "cc_library": rule,
        "exports_files": lambda files: None,
        "glob": _glob,
        "load": lambda *names: None,
    }
    exec((ROOT / "BUILD").read_text(), names)
    return rules


@pytest.fixture(scope="module")
def room_files(bazel_rules):
    """All files of each room, also those that no other may include."""
    return {
        room: set(bazel_rules[room].get("srcs", []))
        | set(bazel_rules[room].get("hdrs", []))
        for room in ROOMS
    }


def _includes(file):
    return re.findall(
        r'^\s*#\s*include\s+(["<][^">]+)', (ROOT / file).read_text(), re.M
    )


def _sources(*suffixes):
    folders = ("cc", "grappler_pass")
    return sorted(
        str(path.relative_to(ROOT))
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in suffixes
    )


def test_rooms_are_those_of_the_design(bazel_rules):
    deps = {
        name: {dep.removeprefix(":") for dep in rule.get("deps", [])}
        for name, rule in bazel_rules.items()
        if name != "_sn_tf.so"
    }
    assert deps == ROOMS


def test_bazel_builds_every_source_once(room_files):
    built = sorted(file for files in room_files.values() for file in files)
    assert built == _sources(".cc", ".h")


def test_bazel_links_every_room(bazel_rules):
    reached = set()
    ahead = ["_sn_tf.so"]
    while ahead:
        name = ahead.pop().removeprefix(":")
        if name not in reached and name in bazel_rules:
            reached.add(name)
            ahead.extend(bazel_rules[name].get("deps", []))
    assert reached == set(bazel_rules)


def test_cmake_builds_every_source():
    command = re.search(
        r"file\(GLOB SN_TF_SOURCES(.*?)\)",
        (ROOT / "CMakeLists.txt").read_text(),
        re.S,
    )
    patterns = [word for word in command[1].split() if word.endswith(".cc")]
    assert _glob(patterns) == _sources(".cc")


@pytest.mark.parametrize("room", ROOMS)
def test_includes_follow_the_arrows(room, bazel_rules, room_files):
    allowed = set(room_files[room])
    for dep in ROOMS[room] - {TENSORFLOW}:
        allowed |= set(bazel_rules[dep].get("hdrs", []))
    wrong = [
        f"{file} includes {include[1:]}"
        for file in sorted(room_files[room])
        for include in _includes(file)
        if include[1:].startswith(("cc/", "grappler_pass/"))
        and include[1:] not in allowed
    ]
    assert not wrong


@pytest.mark.parametrize(
    "room", [room for room in ROOMS if TENSORFLOW not in ROOMS[room]]
)
def test_std_rooms_include_the_standard_library_only(room, room_files):
    # The system's own headers are the only ones in folders.
    wrong = [
        f"{file} includes {include[1:]}"
        for file in sorted(room_files[room])
        for include in _includes(file)
        if not include.startswith(('"cc/', '"grappler_pass/planner/'))
        and not re.fullmatch(r"<((sys|linux)/)?[a-z0-9_]+(\.h)?", include)
    ]
    assert room_files[room]
    assert not wrong


@pytest.mark.parametrize("header", _sources(".h"))
def test_header_guard_is_the_path(header):
    guard = "SN_TF_" + re.sub(r"[/.]", "_", header).upper() + "_"
    text = (ROOT / header).read_text()
    assert f"#ifndef {guard}\n#define {guard}\n" in text
    assert text.endswith(f"#endif  // {guard}\n")


def test_one_python_file_knows_private_tensorflow():
    private = "tensorflow" + ".python"
    found = [
        str(path.relative_to(ROOT))
        for folder in ("sn_tf", "models", "benchmarks")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if re.search(rf"^\s*(from|import) {private}", path.read_text(), re.M)
    ]
    assert found == ["sn_tf/_library.py"]


def _all_files():
    generated = {"build", "demo-venv", "dist", "results", "_build_info.py"}
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        hidden = any(part.startswith(".") for part in parts)
        if path.is_file() and not hidden and not generated & set(parts):
            yield path


def test_every_source_names_its_licence():
    kinds = (".bzl", ".cc", ".cmake", ".h", ".lds", ".py", ".sh", ".toml")
    names = ("BUILD", "CMakeLists.txt", "Makefile", "WORKSPACE")
    unlicensed = []
    for path in _all_files():
        if path.suffix not in kinds and path.name not in names:
            continue
        head = path.read_text().splitlines()[:2]
        line = head[1:] if head and head[0].startswith("#!") else head[:1]
        if not line or "SPDX-License-Identifier: Apache-2.0" not in line[0]:
            unlicensed.append(str(path.relative_to(ROOT)))
    assert not unlicensed


def _output(*command):
    return subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout


def test_library_exports_the_c_interface_only():
    symbols = _output("nm", "-D", "--defined-only", str(LIBRARY))
    exported = {line.split()[-1] for line in symbols.splitlines()}
    declared = re.findall(
        r"^SN_TF_EXPORT[^;(]*?(\w+)\(",
        (ROOT / "cc/capi/capi.h").read_text(),
        re.MULTILINE,
    )
    assert exported == set(declared)


def test_library_brings_no_tensorflow_along():
    dynamic = _output("readelf", "-dW", str(LIBRARY))
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    system = re.compile(r"(libstdc\+\+|libm|libgcc_s|libc|ld-linux.*)\.so\.\d+")
    others = {name for name in needed if not system.fullmatch(name)}
    assert others == {"libtensorflow_framework.so.2"}
    # The loader finds TensorFlow in the process, not at a path of the machine
    # that built the library.
    assert "RPATH" not in dynamic
    assert "RUNPATH" not in dynamic


def test_package_holds_one_library():
    libraries = [path.name for path in (ROOT / "sn_tf").rglob("*.so*")]
    assert libraries == ["_sn_tf.so"]
