# SPDX-License-Identifier: Apache-2.0
"""SuperNeurons for TensorFlow: trains inside a hard memory budget.

Importing sn_tf makes its arena TensorFlow's CPU allocator, so import it before
anything that makes a tensor. `stats()` then measures any training; the others
plan it into a budget:

    model.fit(x, y, callbacks=[sn_tf.MemoryBudget("4GB")])

    with sn_tf.scope("4GB"):
        train_step(batch)

    config = sn_tf.session_config("4GB")
"""

from sn_tf import _library, sim
from sn_tf.callbacks import MemoryBudget
from sn_tf.config import disable, enable, report, scope, session_config
from sn_tf.errors import InfeasibleBudgetError
from sn_tf.oom import last_oom
from sn_tf.reports import (
    LinkStats,
    MemoryStats,
    PlanAction,
    PlanReport,
    reset_peak,
    stats,
)
from sn_tf.tiers import TierStats

__version__ = "0.1.0"

__all__ = [
    "InfeasibleBudgetError",
    "LinkStats",
    "MemoryBudget",
    "MemoryStats",
    "PlanAction",
    "PlanReport",
    "TierStats",
    "__version__",
    "disable",
    "enable",
    "last_oom",
    "report",
    "reset_peak",
    "scope",
    "session_config",
    "sim",
    "stats",
]

_library.library()
