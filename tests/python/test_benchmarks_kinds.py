# SPDX-License-Identifier: Apache-2.0
"""benchmarks.kinds: what it makes of results, and one kind for real."""

import commands

from benchmarks import kinds

_MB = 10**6
_TRAINED = {
    "before_bytes": 2 * _MB,
    "budget_bytes": 9 * _MB,
    "peak_bytes": 8 * _MB,
    "step_times_s": [1.0] * 7,
    "moves": 3,
    "reason": "",
    "weights_sha256": "abc",
}


def test_a_line_tells_what_is_missed():
    met = kinds.line_of("gan", _TRAINED, _TRAINED, _TRAINED)
    assert met["faults"] == []
    assert met["ratio"] == 1
    unplanned = _TRAINED | {
        "peak_bytes": 10 * _MB,
        "moves": 0,
        "reason": "left as it is",
        "weights_sha256": "def",
    }
    missed = kinds.line_of("gan", _TRAINED, _TRAINED, unplanned)
    assert missed["faults"] == [
        "over the budget",
        "left as it is",
        "weights differ",
    ]
    failed = {"kind": "lstm", "faults": ["No result from: python"]}
    rows = kinds.table([met, missed, failed]).splitlines()[2:]
    assert rows[0].endswith("| 3 | 1.000 | yes | met |")
    assert rows[2].endswith("| - | No result from: python |")


def test_a_kind_is_measured():
    done = commands.run(
        *("benchmarks.kinds", "--kinds", "global_clipnorm"),
        *("--rows", "1024", "--steps", "1", "--json"),
    )
    (line,) = commands.printed(done)
    assert line["faults"] == []
    assert line["peak_bytes"] <= line["budget_bytes"]
