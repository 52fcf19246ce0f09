# SPDX-License-Identifier: Apache-2.0
"""The edge to TensorFlow's private Python and to the C++ library.

This is the only module that touches `tensorflow.python.*` or ctypes, so a new
TensorFlow release is adapted to here and nowhere else.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context as tf_context

from sn_tf._left_behind import LeftBehind

_LIBRARY_PATH = Path(__file__).with_name("_sn_tf.so")
_REBUILD = (
    "pip install --no-build-isolation --force-reinstall --no-deps . (in a "
    "checkout of sn_tf)"
)
# The property that SessionCallOptions overrides, and what it holds.
_UNMANAGED_CONFIG = tf_context.FunctionCallOptions.config_proto_serialized


class Library:
    """The C interface of cc/capi/capi.h as Python methods.

    Sizes are bytes. Methods raise ValueError with the library's own message
    where the C call reports a failure, and RuntimeError in a child that was
    forked after the first use.
    """

    def __init__(self, path: Path) -> None:
        """Declares the C functions of the loaded library at `path`."""
        self._c: Any = ctypes.CDLL(str(path))
        self._is_used = False
        os.register_at_fork(after_in_child=self._leave_behind)
        text, number = ctypes.c_char_p, ctypes.c_int64
        # Texts to be freed come back as plain pointers: ctypes would copy a
        # c_char_p into bytes and lose the address.
        owned = ctypes.c_void_p
        texts = ctypes.POINTER(ctypes.c_char_p)
        signatures: dict[str, tuple[Any, list[Any]]] = {
            "SnTfFreeString": (None, [ctypes.c_void_p]),
            "SnTfCompiledVersion": (text, []),
            "SnTfInstallAllocator": (ctypes.c_int, []),
            "SnTfStats": (owned, [text]),
            "SnTfResetPeak": (None, [text]),
            "SnTfSetBudget": (owned, [text, number]),
            "SnTfLastOom": (owned, [text]),
            "SnTfTraceStart": (None, [text]),
            "SnTfTraceStop": (owned, [text]),
            "SnTfBlocks": (owned, [text]),
            "SnTfOpenSink": (None, [text]),
            "SnTfCloseSink": (owned, [text]),
            "SnTfMakeTiers": (owned, [text, text]),
            "SnTfSimConfigure": (owned, [ctypes.c_int, number, text]),
            "SnTfSimCount": (ctypes.c_int, []),
            "SnTfOptionSchema": (owned, []),
            "SnTfCheckOptions": (owned, [texts, texts, ctypes.c_int]),
            "SnTfSessionCreate": (number, []),
            "SnTfSessionDestroy": (None, [number]),
            "SnTfSessionGeneration": (number, [number]),
            "SnTfSessionReports": (owned, [number]),
            "SnTfSessionGraph": (owned, [number, text]),
            "SnTfSessionStepFailed": (None, [number]),
            "SnTfSessionRepeatStep": (ctypes.c_int, [number]),
            "SnTfPlanGraph": (owned, [text, texts, texts, ctypes.c_int, text]),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(self._c, name)
            function.restype, function.argtypes = result, arguments

    def _leave_behind(self) -> None:
        context = tf_context.context_safe()
        if self._is_used or (context is not None and context._initialized):
            self._c = LeftBehind()
            # TensorFlow ends the process when functions are freed whose
            # threads are gone, as the replaced ones that are garbage are.
            gc.freeze()

    @property
    def is_left_behind(self) -> bool:
        """Whether it was the parent's that used it, before this child was."""
        return isinstance(self._c, LeftBehind)

    def check_usable(self) -> None:
        """Raises RuntimeError in a child forked after the first use."""
        self._c.SnTfFreeString(None)

    def compiled_version(self) -> str:
        """The TensorFlow release that the library was compiled against."""
        return str(self._c.SnTfCompiledVersion().decode())

    def install_allocator(self) -> None:
        """Makes the arena TensorFlow's CPU allocator.

        Raises:
            RuntimeError: If TensorFlow has allocated already.
        """
        if not self._c.SnTfInstallAllocator():
            raise RuntimeError(
                "TensorFlow has already allocated memory in this process, so "
                "sn_tf can no longer manage it. Import sn_tf before anything "
                "that makes a tensor, a model or a variable: put `import "
                "sn_tf` right after `import tensorflow`."
            )

    def stats(self, device: str) -> dict[str, Any]:
        """Statistics of the device's arena and of the pool."""
        known = isinstance(device, str)
        text = self._take(self._c.SnTfStats(device.encode())) if known else None
        if text is None:
            raise ValueError(
                f"Invalid value for argument `device`. Received: device="
                f"{device!r}. Expected 'CPU:0', or a simulated device such as "
                f"'SIM:0': sn_tf manages no memory of {device}."
            )
        return dict(json.loads(text))

    def reset_peak(self, device: str) -> None:
        """Restarts the peak and the high-water mark at what is in use."""
        self._c.SnTfResetPeak(device.encode())

    def set_budget(self, device: str, budget_bytes: int) -> None:
        """Sets the arena's hard limit; 0 lifts it."""
        self._check(self._c.SnTfSetBudget(device.encode(), budget_bytes))

    def last_oom(self, device: str) -> tuple[int, str]:
        """How often the device ran out of memory, and the latest message."""
        text = self._take(self._c.SnTfLastOom(device.encode()))
        if text is None:
            return 0, ""
        latest = json.loads(text)
        return int(latest["number"]), str(latest["message"])

    def blocks(self, device: str) -> list[list[int]]:
        """Offset and size of every block in use, by offset."""
        text = self._take(self._c.SnTfBlocks(device.encode()))
        return list(json.loads(text or "[]"))

    def start_trace(self, device: str) -> None:
        """Records allocations and releases until `stop_trace`."""
        self._c.SnTfTraceStart(device.encode())

    def stop_trace(self, device: str) -> list[dict[str, Any]]:
        """What was recorded, in order; the fields are those of capi.h."""
        text = self._take(self._c.SnTfTraceStop(device.encode()))
        return list(json.loads(text or "[]"))

    def open_sink(self, device: str) -> None:
        """Lets ops that are refused memory run on in vain; see capi.h."""
        self._c.SnTfOpenSink(device.encode())

    def close_sink(self, device: str) -> dict[str, Any] | None:
        """Ends that, and returns the first refusal, or None."""
        text = self._take(self._c.SnTfCloseSink(device.encode()))
        return None if text is None else dict(json.loads(text))

    def make_tiers(self, tiers: str, swap_dir: str) -> list[dict[str, Any]]:
        """Makes the CPU's tiers of that list, and describes them; see capi.h.

        Raises:
            ValueError: If they cannot be made.
        """
        self._is_used = True
        made = self._c.SnTfMakeTiers(tiers.encode(), swap_dir.encode())
        answer = json.loads(self._take(made) or "{}")
        if answer["error"]:
            raise ValueError(answer["error"])
        return list(answer["tiers"])

    def configure_sim(self, count: int, memory_bytes: int, link: str) -> None:
        """Makes simulated devices."""
        self._check(
            self._c.SnTfSimConfigure(count, memory_bytes, link.encode())
        )

    def sim_count(self) -> int:
        """How many simulated devices there are."""
        return int(self._c.SnTfSimCount())

    def option_schema(self) -> list[dict[str, Any]]:
        """Name, type, default and doc of every option of the pass."""
        return list(json.loads(self._take(self._c.SnTfOptionSchema()) or "[]"))

    def check_options(self, options: Mapping[str, str]) -> None:
        """Raises ValueError for the first option that the pass refuses."""
        self._check(self._c.SnTfCheckOptions(*_as_arrays(options)))

    def create_session(self) -> int:
        """The number of a new session."""
        self._is_used = True
        return int(self._c.SnTfSessionCreate())

    def destroy_session(self, session: int) -> None:
        """Forgets the session's profiles and reports."""
        self._c.SnTfSessionDestroy(session)

    def generation(self, session: int) -> int:
        """The generation of plans that the session wants next."""
        return int(self._c.SnTfSessionGeneration(session))

    def step_failed(self, session: int) -> None:
        """Tells the session that a step has run out of memory."""
        self._c.SnTfSessionStepFailed(session)

    def repeat_step(self, session: int) -> bool:
        """Whether the failed step's next run gets the same batches, and may do.

        To be called behind `step_failed`.
        """
        return bool(self._c.SnTfSessionRepeatStep(session))

    def reports(self, session: int) -> list[dict[str, Any]]:
        """The latest plan report of each function, oldest first."""
        text = self._take(self._c.SnTfSessionReports(session))
        return list(json.loads(text or "[]"))

    def graph(self, session: int, function: str) -> str | None:
        """The graph that a function's latest plan was made of, as JSON."""
        return self._take(self._c.SnTfSessionGraph(session, function.encode()))

    def plan_graph(
        self, graph: str, options: Mapping[str, str], schedule: str | None
    ) -> dict[str, Any]:
        """The plan of a graph, or of a schedule of it; see capi.h.

        Raises:
            ValueError: If any of them is refused.
        """
        made = self._c.SnTfPlanGraph(
            graph.encode(),
            *_as_arrays(options),
            None if schedule is None else schedule.encode(),
        )
        plan = dict(json.loads(self._take(made) or "{}"))
        if plan["error"]:
            raise ValueError(plan["error"])
        return plan

    def _take(self, pointer: int | None) -> str | None:
        if pointer is None:
            return None
        try:
            return ctypes.string_at(pointer).decode()
        finally:
            self._c.SnTfFreeString(pointer)

    def _check(self, pointer: int | None) -> None:
        message = self._take(pointer)
        if message is not None:
            raise ValueError(message)


def _as_arrays(options: Mapping[str, str]) -> tuple[Any, Any, int]:
    """Names, values and their number, as the C interface takes options."""
    texts = ctypes.c_char_p * len(options)
    return (
        texts(*(name.encode() for name in options)),
        texts(*(value.encode() for value in options.values())),
        len(options),
    )


class SessionCallOptions(tf_context.FunctionCallOptions):  # type: ignore[misc]
    """Function-call options whose configuration follows the session's plans.

    TensorFlow reads `config_proto_serialized` at every call of a function, and
    instantiates the function anew, through the graph passes, when the bytes
    are not those of an earlier call. Answering with the newest generation of
    plans is thus all that it takes for any kind of loop to pick one up.
    """

    __slots__ = ("_managed_config",)

    def __init__(
        self,
        previous: tf_context.FunctionCallOptions,
        managed_config: Callable[[bytes], bytes],
    ) -> None:
        """Starts from the thread's `previous` options.

        Args:
            previous: Options to extend.
            managed_config: Given the serialized configuration of `previous`,
                returns that of the call being made.
        """
        super().__init__(
            executor_type=previous.executor_type,
            config_proto=tf.compat.v1.ConfigProto.FromString(
                _UNMANAGED_CONFIG.fget(previous)
            ),
        )
        self._managed_config = managed_config

    @property
    def config_proto_serialized(self) -> bytes:
        """The serialized configuration of the call being made."""
        unmanaged: bytes = _UNMANAGED_CONFIG.fget(self)
        # While a function is traced, TensorFlow writes this into the calls
        # inside it; a session's number must not outlive the session there.
        if not tf_context.context().executing_eagerly():
            return unmanaged
        return self._managed_config(unmanaged)

    @config_proto_serialized.setter
    def config_proto_serialized(self, config: Any) -> None:
        _UNMANAGED_CONFIG.fset(self, config)


def call_options() -> tf_context.FunctionCallOptions:
    """The function-call options of this thread."""
    return tf_context.context().function_call_options


def install_call_options(managed_config: Callable[[bytes], bytes]) -> None:
    """Manages the function calls of this thread.

    Args:
        managed_config: See `SessionCallOptions`.
    """
    restore_call_options(SessionCallOptions(call_options(), managed_config))


def restore_call_options(options: tf_context.FunctionCallOptions) -> None:
    """Makes `options` those of this thread."""
    tf_context.context().function_call_options = options


def is_managed() -> bool:
    """Whether this thread's function calls go through a session's plans."""
    return isinstance(call_options(), SessionCallOptions)


@functools.lru_cache(maxsize=1)
def library() -> Library:
    """Loads the library and makes its arena TensorFlow's CPU allocator.

    Raises:
        ImportError: If the library was not built, or was built for another
            release of TensorFlow.
        RuntimeError: If TensorFlow has allocated already.
    """
    _check_build()
    try:
        tf.load_op_library(str(_LIBRARY_PATH))
    except tf.errors.NotFoundError as error:
        raise ImportError(
            f"{_LIBRARY_PATH} cannot be loaded into TensorFlow "
            f"{tf.__version__}: {error.message} Build it again for this "
            f"TensorFlow: {_REBUILD}."
        ) from error
    loaded = Library(_LIBRARY_PATH)
    _check_version(loaded.compiled_version())
    loaded.install_allocator()
    return loaded


def _check_build() -> None:
    if not _LIBRARY_PATH.exists():
        raise ImportError(
            f"The compiled part of sn_tf is missing: no file {_LIBRARY_PATH}. "
            "Build it: pip install . (in a checkout of sn_tf; for "
            "development: pip install -e . --no-build-isolation)."
        )
    try:
        build_info = importlib.import_module("sn_tf._build_info")
    except ModuleNotFoundError:
        return  # The loaded library is asked instead.
    # Before the library is opened: one compiled for another release may crash.
    _check_version(build_info.TF_VERSION)


def _check_version(needed: str) -> None:
    minor = needed.split(".")[:2]
    if tf.__version__.split(".")[:2] == minor:
        return
    release = ".".join(minor)
    raise ImportError(
        f"sn_tf was compiled for TensorFlow {release} (against {needed}), but "
        f"TensorFlow {tf.__version__} is installed. Either install that "
        f"TensorFlow: pip install 'tensorflow=={release}.*'; or build sn_tf "
        f"against the installed one: {_REBUILD}."
    )
