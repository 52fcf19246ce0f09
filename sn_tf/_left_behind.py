# SPDX-License-Identifier: Apache-2.0
"""What takes the place of the library in a forked child."""

from __future__ import annotations

from typing import Any


class LeftBehind:
    """In a forked child, the library that its parent was using.

    Threads of the parent may have held the library's locks, and are gone; the
    file of a tier would be written to by both.
    """

    def __getattr__(self, name: str) -> Any:
        """Raises RuntimeError, for each C function."""
        raise RuntimeError(
            "This process was forked from one that was using sn_tf or "
            "TensorFlow, whose threads are not in it, so sn_tf cannot be used "
            "here. Start processes that train by multiprocessing's "
            'get_context("spawn"), or fork before the first use. Forked '
            "processes that use neither, such as those that load data, are "
            "well."
        )
