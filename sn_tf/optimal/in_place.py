# SPDX-License-Identifier: Apache-2.0
"""The integer programme of the optimal planner: ops that write in place.

As grappler_pass/planner/liveness.h has it: where an op is the last to refer to
the memory of all inputs that it may write into. A copy that is to come back
refers to it too. Of what came back, that is known of the last version only.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence

from sn_tf.optimal.choices import At, Choices
from sn_tf.optimal.linear import Programme, Sum, total
from sn_tf.optimal.slots import Slots

_NEVER = Sum()


class InPlace:
    """Which ops write in place, as the choices have it."""

    def __init__(
        self,
        programme: Programme,
        slots: Slots,
        choices: Choices,
        there: Callable[[int, int], Sum],
        events: Mapping[int, Sequence[int]],
        *,
        loose: bool,
    ) -> None:
        """Adds nothing to the programme yet.

        Args:
            programme: The programme.
            slots: Its slots.
            choices: Its choices.
            there: Whether a buffer is in memory while a slot's op runs.
            events: Per buffer, the slots for which that may be other than
                before.
            loose: For a bound only: copies are no hindrance.
        """
        self._programme = programme
        self._slots = slots
        self._choices = choices
        self._there = there
        self._events = events
        self._loose = loose
        self._computed: dict[At, Sum] = {}

    def shared_bytes(self, slot: int) -> Sum:
        """Bytes that the slot's op does not take; at most what is so."""
        size, inputs = self._slots.in_place(slot)
        if not inputs:
            return _NEVER
        shared = self._programme.share()
        self._programme.require(self._runs(slot) - shared)
        for buffer in inputs:
            # A version that begins then is another.
            kept = self._there(buffer, slot + 1) - self._choices.back.get(
                (buffer, slot + 1), _NEVER
            )
            self._programme.require(1.0 - shared - kept)
            if buffer in self._choices.out and not self._loose:
                self._programme.require(self._is_free(buffer, slot) - shared)
        return shared * size

    def _runs(self, slot: int) -> Sum:
        return self._choices.clone.get(slot, Sum({}, 1.0))

    def _is_free(self, buffer: int, slot: int) -> Sum:
        """Whether no copy refers to what the slot's op reads."""
        kept = 1.0 - self._choices.out[buffer]
        return kept + self._is_computed(buffer, slot) + self._came(buffer, slot)

    def _came(self, buffer: int, slot: int) -> Sum:
        """Whether it came back before the slot, and is the last version."""
        came = self._programme.share()
        before: list[Sum] = []
        for (other, entry), back in self._choices.back.items():
            if other != buffer:
                continue
            if entry <= slot:
                before.append(back)
            else:
                self._programme.require(1.0 - back - came)
        self._programme.require(total(before) - came)
        for later, clone in self._choices.clone.items():
            if later > slot and buffer in self._slots.writes(later):
                self._programme.require(1.0 - clone - came)
        return came

    def _is_computed(self, buffer: int, slot: int) -> Sum:
        """Whether what is in memory then was computed once more."""
        events = self._events[buffer]
        at = bisect.bisect_right(events, slot) - 1
        if at < 0:
            return _NEVER
        event = events[at]
        if (buffer, event) not in self._computed:
            computed = self._computed[buffer, event] = self._programme.share()
            before = self._is_computed(buffer, event - 1) if at else _NEVER
            if at and buffer in self._slots.writes(event - 1):
                before += self._runs(event - 1)
            back = self._choices.back.get((buffer, event), _NEVER)
            self._programme.require(
                before - computed,
                self._there(buffer, event) - computed,
                1.0 - back - computed,
            )
        return self._computed[buffer, event]
