# SPDX-License-Identifier: Apache-2.0
"""Limits on the memory of a child process: a cgroup's, or a resource limit.

A cgroup (version 2) limits what is resident, and the kernel kills what passes
it. To make one, this process's group or the one above must hand the memory
controller down, and be writable: so it is below a user's systemd, and for root.

Where there is none, `ulimit -d` (RLIMIT_DATA) limits private writable memory,
touched or not; allocations beyond it fail. It is nearer to memory in use than
`ulimit -v`, which counts the code of all libraries too. It is harder on sn_tf
than a cgroup is: sn_tf's arena is one reserved range, of which every byte
counts, used or not. It takes the largest halving of its usual size that leaves
half as much again.
"""

import contextlib
import os
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")


def own_group(groups=_GROUPS, text=None):
    """Folder of this process's cgroup in the unified hierarchy.

    Args:
        groups: Where that is mounted.
        text: What /proc/self/cgroup has.
    """
    if text is None:
        text = Path("/proc/self/cgroup").read_text()
    for line in text.splitlines():
        if line.startswith("0::"):
            return groups / line.removeprefix("0::").lstrip("/")
    return groups


def _hands_memory_down(group):
    try:
        handed = (group / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
    return "memory" in handed and os.access(group, os.W_OK)


def parent_group(groups=_GROUPS, text=None):
    """A cgroup below which one with a memory limit can be made, or None."""
    own = own_group(groups, text)
    for group in (own, own.parent):
        if group.is_relative_to(groups) and _hands_memory_down(group):
            return group
    return None


@contextlib.contextmanager
def cgroup(parent, limit_bytes):
    """Makes a cgroup for the block, without swap.

    Yields:
        The command that puts the command which follows it into the group.
    """
    group = parent / f"sn_tf_{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.max").write_text(str(limit_bytes))
        with contextlib.suppress(OSError):  # There may be no swap at all.
            (group / "memory.swap.max").write_text("0")
        yield [
            *("sh", "-c", 'echo $$ > "$0"/cgroup.procs && exec "$@"'),
            str(group),
        ]
    finally:
        group.rmdir()


@contextlib.contextmanager
def data_limit(limit_bytes):
    """`ulimit -d`: yields the command that limits the one which follows it."""
    yield [
        *("sh", "-c", 'ulimit -d "$0" && exec "$@"'),
        str(limit_bytes // 1024),
    ]
