# SPDX-License-Identifier: Apache-2.0
"""Plans that no other beats, of small graphs: to judge planners by.

`optimal_plan` writes the choices that a plan is made of as an integer programme
in the manner of Checkmate (Jain et al., MLSys 2020, arXiv 1910.02653), with
swaps added, and has it solved with HiGHS. It is slow: minutes for some tens of
ops.

    graph = sn_tf.graphs.Graph.read("reports/step.graph.json")
    options = sn_tf.options.Options(budget_bytes=300_000_000)
    auto = sn_tf.graphs.plan_graph(graph, options)
    best = optimal_plan(graph, options, rivals=[auto])

What it is the best of: schedules over the route that every policy has, which
run each op once more at most between two ops of the route, in the order of the
route, and wait for copies out before they begin copies back there; and what can
be made of the rivals that it is given.
"""

from sn_tf.optimal.coarse import coarsened
from sn_tf.optimal.search import Optimum, optimal_plan, smallest_plan

__all__ = ["Optimum", "coarsened", "optimal_plan", "smallest_plan"]
