# SPDX-License-Identifier: Apache-2.0
"""Options: from arguments and environment to what the pass is told."""

from __future__ import annotations

import dataclasses
import functools
import operator
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, SupportsIndex

import tensorflow as tf

from sn_tf import _library
from sn_tf.budget import parse_budget
from sn_tf.tiers import choose, choose_for_accelerator

_POLICIES = (
    *("auto", "liveness", "swap"),
    *("vdnn_all", "vdnn_conv", "vdnn_dyn"),
    *("speed_centric", "memory_centric", "cost_aware", "superneurons"),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Every option of the pass; grappler_pass/planner/options.h is its source.

    Attributes:
        budget_bytes: Most bytes that the device's arena may have in use.
            Defaults to 0: no limit.
        policy: How to choose what moves; see `sn_tf.enable`. Defaults to
            `"auto"`.
        tiers: `"auto"`, `"none"`, or a list such as `"host:2GB,file"`.
            Defaults to `"auto"`.
        swap_dir: Folder of the file tier. Defaults to `""`: the system's for
            temporary files.
        cache: `"on"`: what may move but need not stays until memory is needed;
            or `"off"`. Defaults to `"on"`.
        batch_size: What an unknown leading dimension of the step's inputs is
            planned as. Defaults to 0: unknown until a step was observed.
        device: Device whose memory is planned. Defaults to `"CPU:0"`.
        report_dir: Folder for reports. Defaults to `""`: none.
        min_buffer_bytes: Smaller buffers stay where they are. Defaults to
            65536.
        link_bandwidth_bytes_per_s: Bandwidth of the link to the host tier,
            each direction. Defaults to 6 GB/s.
        session: Number that joins the graphs of one activation. Defaults to
            0: none.
        generation: Which of the session's plans is wanted. Defaults to 0.
    """

    budget_bytes: int = 0
    policy: str = "auto"
    tiers: str = "auto"
    swap_dir: str = ""
    cache: str = "on"
    batch_size: int = 0
    device: str = "CPU:0"
    report_dir: str = ""
    min_buffer_bytes: int = 64 * 1024
    link_bandwidth_bytes_per_s: int = 6_000_000_000
    session: int = 0
    generation: int = 0

    def to_parameters(self) -> dict[str, str]:
        """The options as strings, the form in which they travel to the pass."""
        return {
            name: str(value)
            for name, value in dataclasses.asdict(self).items()
            if value != ""
        }


def make_options(arguments: Mapping[str, Any]) -> Options:
    """Checks what a caller passed, completed by `SN_TF_*` and the defaults.

    Args:
        arguments: Any of budget, policy, tiers, swap_dir, batch_size, device
            and report_dir; one that is None counts as not given.

    Returns:
        The options, checked.

    Raises:
        ValueError: If an argument is unknown or its value is not accepted.
    """
    accepted = ("budget", *_CHECKS)
    unknown = [name for name in arguments if name not in accepted]
    if unknown:
        raise ValueError(
            f"Unknown option `{unknown[0]}`. Received: {unknown[0]}="
            f"{arguments[unknown[0]]!r}. Expected one of: "
            f"{', '.join(accepted)}."
        )
    values = {
        name: _checked(name, arguments.get(name), check)
        for name, check in _CHECKS.items()
    }
    device = _library.library().stats(values["device"])
    budget = _checked(
        "budget",
        arguments.get("budget"),
        functools.partial(_check_budget, device),
    )
    options = Options(budget_bytes=budget, **values)
    # Before tiers are made of them.
    _library.library().check_options(options.to_parameters())
    moves = options.policy != "liveness" and options.tiers != "none"
    where = (options.tiers, options.swap_dir, options.device)
    if "link" not in device and moves:
        chosen = dataclasses.asdict(choose(*where))
        options = dataclasses.replace(options, **chosen)
    elif "link" in device:
        # The planner divides by it: an unlimited link is just very fast.
        bandwidth = device["link"]["bandwidth_bytes_per_s"]
        options = dataclasses.replace(
            options,
            tiers=choose_for_accelerator(*where) if moves else options.tiers,
            link_bandwidth_bytes_per_s=int(bandwidth) or 10**12,
        )
    _library.library().check_options(options.to_parameters())
    return options


_EXPECTED_TIERS = (
    "'auto', 'none', or a list of tiers such as 'host:2GB,file:20GB'"
)

# What to do where there are no simulated devices.
CONFIGURE_SIM = "call sn_tf.sim.configure() right after importing sn_tf"


def default_device() -> str:
    """The device that is meant where none is named.

    Raises:
        ValueError: If `$SN_TF_DEVICE` names none that is managed.
    """
    return str(_checked("device", None, _check_device))


def device_name(device: str | None) -> str:
    """The name by which the library knows `device`, in any of its spellings.

    Args:
        device: Such as `"SIM:0"`, `"sim"` or `"/device:SIM:0"`; None for the
            default.

    Raises:
        ValueError: If it is none that is managed.
    """
    return default_device() if device is None else _check_device(device)


def _checked(name: str, argument: object, check: Callable[[Any], Any]) -> Any:
    """The argument, else the environment's value, else the default; checked."""
    if argument is not None:
        return check(argument)
    variable = f"SN_TF_{name.upper()}"
    value = os.environ.get(variable)
    if not value:
        return check(None)
    try:
        return check(_as_number(value) if name == "batch_size" else value)
    except ValueError as error:
        raise ValueError(
            f"{error} It was read from the environment variable {variable}."
        ) from error


def _as_number(text: str) -> object:
    """The number that `text` is; `text` itself where it is none."""
    try:
        return int(text)
    except ValueError:
        return text


def _invalid(name: str, received: object, expected: str) -> ValueError:
    return ValueError(
        f"Invalid value for argument `{name}`. Received: {name}="
        f"{received!r}. Expected {expected}."
    )


def _check_budget(device: Mapping[str, Any], value: Any) -> int:
    return parse_budget(
        "auto" if value is None else value,
        in_use_bytes=device["in_use_bytes"],
        memory_bytes=device.get("memory_bytes", 0),
    )


def _check_choice(name: str, value: object, accepted: tuple[str, ...]) -> str:
    if value is None:
        return accepted[0]
    if isinstance(value, str) and value in accepted:
        return value
    choices = ", ".join(repr(choice) for choice in accepted)
    raise _invalid(name, value, f"one of: {choices}")


def _check_tiers(value: object) -> str:
    if value is None:
        return "auto"
    if isinstance(value, str) and value in ("auto", "none"):
        return value
    if not isinstance(value, str):
        raise _invalid("tiers", value, _EXPECTED_TIERS)
    # The library reads lists, and says what is wrong with one.
    _library.library().check_options({"tiers": value})
    return value


def _check_batch_size(value: object) -> int:
    if value is None:
        return 0
    expected = "a positive whole number below 2^31"
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise _invalid("batch_size", value, expected)
    size = operator.index(value)
    if not 0 < size < 2**31:
        raise _invalid("batch_size", value, expected)
    return size


def _check_device(value: object) -> str:
    if value is None:
        return "CPU:0"
    expected = "'CPU:0', or a simulated device such as 'SIM:0'"
    if not isinstance(value, str):
        raise _invalid("device", value, expected)
    name = value.upper().rpartition("/")[2].removeprefix("DEVICE:")
    if name in ("CPU", "CPU:0"):
        return "CPU:0"
    if name == "SIM":
        name = "SIM:0"
    if name.startswith("SIM:") and _is_managed(name):
        return name
    if name.startswith("SIM:"):
        count = _library.library().sim_count()
        raise _invalid(
            "device",
            value,
            f"{expected}: "
            + (
                f"{count} simulated devices are configured"
                if count
                else CONFIGURE_SIM
            ),
        )
    devices = _physical_devices()
    if name not in devices:
        raise _invalid(
            "device",
            value,
            f"{expected}: this machine has no {value} (it has: "
            f"{', '.join(devices)})",
        )
    raise _invalid(
        "device",
        value,
        f"{expected}: the memory of {value} is not managed by this version",
    )


def _physical_devices() -> list[str]:
    """Names such as "CPU:0" of the devices that TensorFlow sees."""
    counts: dict[str, int] = {}
    names = []
    for device in tf.config.list_physical_devices():
        index = counts.get(device.device_type, 0)
        counts[device.device_type] = index + 1
        names.append(f"{device.device_type}:{index}")
    return names


def _is_managed(device: str) -> bool:
    try:
        _library.library().stats(device)
    except ValueError:
        return False
    return True


def _check_swap_dir(value: object) -> str:
    if value is None or value == "":
        return ""
    expected = "an existing folder that this process may write to"
    if not isinstance(value, (str, os.PathLike)):
        raise _invalid("swap_dir", value, expected)
    path = os.path.abspath(os.fspath(value))
    if not os.path.isdir(path) or not os.access(path, os.W_OK | os.X_OK):
        raise _invalid("swap_dir", value, expected)
    return str(path)


def _check_report_dir(value: object) -> str:
    if value is None:
        return ""
    expected = (
        "a folder that this process may write to, made where it does not exist"
    )
    if not isinstance(value, (str, os.PathLike)):
        raise _invalid("report_dir", value, expected)
    path = Path(value).absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _invalid("report_dir", value, f"{expected} ({error})") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise _invalid("report_dir", value, expected)
    return str(path)


# What callers may pass beside the budget, in the order of the documentation:
# how each is checked and completed. None stands for "not given".
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "policy": lambda value: _check_choice("policy", value, _POLICIES),
    "tiers": _check_tiers,
    "swap_dir": _check_swap_dir,
    "batch_size": _check_batch_size,
    "device": _check_device,
    "report_dir": _check_report_dir,
    "cache": lambda value: _check_choice("cache", value, ("on", "off")),
}
