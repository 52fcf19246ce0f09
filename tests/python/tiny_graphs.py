# SPDX-License-Identifier: Apache-2.0
"""Random training steps of some ten buffers, for trying all plans of them."""

from __future__ import annotations

import random

from sn_tf.graphs import NONE, Buffer, Graph, Op

_UNIT_BYTES = 64


class _Builder:
    def __init__(self, seed: int, most_buffers: int) -> None:
        self.random = random.Random(seed)
        self.most_buffers = most_buffers
        self.ops: list[dict[str, object]] = []
        self.buffers: list[dict[str, object]] = []

    def add(
        self,
        name: str,
        reads: list[int],
        *,
        pure: float,
        writes: int = 1,
        most_units: int = 10,
        view: bool = False,
    ) -> list[int]:
        """Adds an op, pure at that probability; returns what it writes."""
        pick = self.random
        read = sorted(set(reads))
        op = len(self.ops)
        written = []
        for port in range(writes):
            written.append(len(self.buffers))
            self.buffers.append(
                {
                    "name": f"{name}:{port}",
                    "bytes": _UNIT_BYTES * pick.randint(1, most_units),
                    "producer": op,
                    "movable": not view and pick.random() < 0.9,
                    "view": view,
                }
            )
        self.ops.append(
            {
                "name": name,
                "type": "Test",
                "after": {self.buffers[one]["producer"] for one in read},
                "reads": tuple(read),
                "writes": tuple(written),
                "seconds": float(pick.randint(1, 9)),
                "pure": pick.random() < pure,
                "workspace_bytes": _UNIT_BYTES * pick.randint(1, 8)
                if pick.random() < 0.3
                else 0,
            }
        )
        return written

    def write_in_place(self, written: int) -> None:
        """Lets it be written into what its op reads of the same size."""
        one = self.ops[self.buffers[written]["producer"]]  # type: ignore[call-overload]
        read = [
            buffer
            for buffer in one["reads"]  # type: ignore[attr-defined]
            if not self.buffers[buffer]["view"]
        ]
        first = self.random.choice(read)
        size = self.buffers[written]["bytes"] = self.buffers[first]["bytes"]
        one["in_place_output"] = written
        one["in_place_inputs"] = tuple(
            buffer for buffer in read if self.buffers[buffer]["bytes"] == size
        )

    def pair(self, one: int, other: int) -> None:
        self.ops[one]["partner"], self.ops[other]["partner"] = other, one

    def has_room(self) -> bool:
        return len(self.buffers) < self.most_buffers

    def graph(self) -> Graph:
        for op in self.ops:
            op["after"] = tuple(sorted(op["after"]))  # type: ignore[call-overload]
        return Graph(
            tuple(Op(**op) for op in self.ops),  # type: ignore[arg-type]
            tuple(Buffer(**one) for one in self.buffers),  # type: ignore[arg-type]
            _UNIT_BYTES * self.random.randint(0, 3),
        )


def tiny_graph(seed: int, most_buffers: int = 10) -> Graph:
    """A forward pass of two or three layers, and its way back.

    With skips, variables that are overwritten, ops that write two buffers or in
    place, ops that may not run again, buffers that may not move, and partners.
    """
    build = _Builder(seed, most_buffers)
    pick = build.random
    layers = pick.randint(2, 3)
    activations = build.add("input", [], pure=0.3)
    kept: list[list[int]] = []
    views: list[int] = []
    for layer in range(layers):
        reads = [activations[-1]]
        if pick.random() < 0.3:
            reads.append(pick.choice(activations))
        view = NONE
        if pick.random() < 0.4 and len(build.buffers) < 7:
            (view,) = build.add(
                f"read{layer}", [], pure=0, most_units=4, view=True
            )
            reads.append(view)
        writes = 2 if pick.random() < 0.15 else 1
        written = build.add(f"forward{layer}", reads, pure=0.85, writes=writes)
        if pick.random() < 0.3:
            build.write_in_place(written[0])
        activations.append(written[0])
        kept.append(written[1:])
        views.append(view)
    (gradient,) = build.add("loss", [activations[-1]], pure=0.5)
    for layer in reversed(range(layers)):
        if not build.has_room():
            break
        reads = [activations[layer + 1], gradient, *kept[layer]]
        if pick.random() < 0.6:
            reads.append(activations[layer])
        if views[layer] != NONE:
            reads.append(views[layer])
        gradient_before = gradient
        (gradient,) = build.add(f"backward{layer}", reads, pure=0.7)
        if pick.random() < 0.4:
            build.write_in_place(gradient)
        if pick.random() < 0.3 and build.has_room():
            reads = [activations[layer], gradient_before]
            build.add(f"weights{layer}", reads, pure=1, most_units=3)
            build.pair(len(build.ops) - 2, len(build.ops) - 1)
        if views[layer] != NONE and pick.random() < 0.7:
            build.add(f"update{layer}", [gradient], pure=0, writes=0)
            update = len(build.ops) - 1
            build.buffers[views[layer]]["overwriter"] = update
            build.ops[update]["after"].add(  # type: ignore[attr-defined]
                build.buffers[views[layer]]["producer"]
            )
    return build.graph()
