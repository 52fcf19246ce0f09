# SPDX-License-Identifier: Apache-2.0
"""Options: arguments, environment, defaults, and the library's own table."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from sn_tf import _library
from sn_tf.options import Options, make_options
from sn_tf.tiers import choose


def test_mirrors_the_library() -> None:
    ours = [
        (field.name, "int" if field.type == "int" else "string", field.default)
        for field in dataclasses.fields(Options)
    ]
    schema = _library.library().option_schema()
    theirs = [
        (
            option["name"],
            option["type"],
            int(option["default"])
            if option["type"] == "int"
            else option["default"],
        )
        for option in schema
    ]
    assert ours == theirs
    assert all(option["doc"] for option in schema)


def test_the_library_accepts_the_defaults() -> None:
    _library.library().check_options(Options().to_parameters())


def test_the_library_refuses_an_unknown_option() -> None:
    with pytest.raises(ValueError, match="potatoes"):
        _library.library().check_options({"potatoes": "4"})


def test_defaults() -> None:
    options = make_options({"budget": "1GB"})
    chosen = choose("auto", "", "CPU:0")
    assert chosen.tiers in ("file", "host")
    assert options == Options(budget_bytes=10**9, **dataclasses.asdict(chosen))


def test_tiers_without_room_for_any_buffer_are_refused() -> None:
    for kind in ("host", "compressed", "file"):
        with pytest.raises(ValueError, match="Give sizes with their units"):
            make_options({"budget": "1GB", "tiers": f"{kind}:100"})


def test_no_folder_for_swaps_is_that_for_temporary_files() -> None:
    assert make_options({"budget": "1GB", "swap_dir": ""}).swap_dir == ""


def test_nothing_is_made_for_tiers_that_are_not_used() -> None:
    for arguments in ({"tiers": "none"}, {"policy": "liveness"}):
        options = make_options({"budget": "1GB", **arguments})
        assert options == Options(budget_bytes=10**9, **arguments)


def test_arguments_come_before_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SN_TF_BUDGET", "2GB")
    monkeypatch.setenv("SN_TF_POLICY", "liveness")
    monkeypatch.setenv("SN_TF_TIERS", "none")
    monkeypatch.setenv("SN_TF_SWAP_DIR", str(tmp_path))
    monkeypatch.setenv("SN_TF_BATCH_SIZE", "32")
    monkeypatch.setenv("SN_TF_DEVICE", "cpu:0")
    monkeypatch.setenv("SN_TF_REPORT_DIR", str(tmp_path / "reports"))
    from_environment = Options(
        budget_bytes=2 * 10**9,
        policy="liveness",
        tiers="none",
        swap_dir=str(tmp_path),
        batch_size=32,
        report_dir=str(tmp_path / "reports"),
    )
    assert make_options({}) == from_environment
    arguments = {"budget": 10**9, "policy": "auto", "batch_size": 8}
    assert make_options(arguments) == dataclasses.replace(
        from_environment, budget_bytes=10**9, policy="auto", batch_size=8
    )


def test_a_bad_environment_variable_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SN_TF_BATCH_SIZE", "many")
    with pytest.raises(ValueError, match=r"'many'.*SN_TF_BATCH_SIZE"):
        make_options({"budget": "1GB"})


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("policy", "fast", "'auto', 'liveness'"),
        ("policy", 3, "'auto', 'liveness'"),
        ("tiers", "disk", "Expected 'host', 'compressed' and 'file'"),
        ("tiers", "host,host", "each at most once"),
        ("tiers", "file:-1GB", "a size above 0"),
        ("tiers", 5, "a list of tiers such as 'host:2GB,file:20GB'"),
        ("cache", "maybe", "'on', 'off'"),
        ("batch_size", 0, "positive whole number"),
        ("batch_size", -4, "positive whole number"),
        ("batch_size", True, "positive whole number"),
        ("batch_size", 2.5, "positive whole number"),
        ("batch_size", "32", "positive whole number"),
        ("device", "GPU:7", "this machine has no GPU:7"),
        ("device", 0, "'CPU:0'"),
        ("swap_dir", "no/such/folder", "existing folder"),
        ("swap_dir", 5, "existing folder"),
        ("report_dir", "/dev/null/reports", "a folder"),
        ("report_dir", "/proc/self", "that this process may write to"),
        ("report_dir", 5, "a folder"),
        ("budgets", "1GB", "budget, policy, tiers, swap_dir, batch_size"),
    ],
)
def test_refuses_with_what_was_received_and_expected(
    name: str, value: Any, expected: str
) -> None:
    with pytest.raises(ValueError) as error:
        make_options({"budget": "1GB", name: value})
    # The library, which reads tier lists, knows no names of arguments.
    assert f"{name}={value!r}" in str(error.value) or repr(value) in str(
        error.value
    )
    assert expected in str(error.value)


def test_parameters_are_strings_without_the_empty_ones() -> None:
    parameters = Options(budget_bytes=5, session=3).to_parameters()
    assert parameters["budget_bytes"] == "5"
    assert parameters["session"] == "3"
    assert parameters["generation"] == "0"
    assert "swap_dir" not in parameters
