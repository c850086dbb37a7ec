// What a visit changes on the way back: the idempotent recursion (docs/methods/search.md), which recomputes
// a node from its edges, so that nothing is counted twice where parents share a node.
#pragma once

#include "search/graph.hpp"
#include "search/settings.hpp"

namespace ramify {

// Takes over the child's value into edge `edge`.
[[gnu::always_inline]] inline void update_edge(const Graph& graph, const Settings& settings, const Node& node,
                                               const Edges& edges, std::uint32_t edge) {
  graph.note_change(node, edges, edge);
  edges.child[edge] &= ~kPending;
  take_value(edges, edge, graph.node(child_of(edges, edge)), settings.discount);
}

// Recomputes the node's value from its evaluation and its edges, whose values are those of this visit: selection took
// them from the children on the way down, and update_edge the one that changed since.
void update_value(const Graph& graph, Node& node, const Edges& edges);

// The same where chance decides: the mean of the outcomes that have a value, by their weights (chance.hpp). Nothing changes
// while none has.
void update_chance(const Graph& graph, const Settings& settings, Node& node, const Edges& edges);

// Where evaluations count by their weights: recomputes the mean weight of the node's visits, each edge's being that of its
// child, and with `valued` the node's value, in which its evaluation and its visits count by these weights.
void update_weights(const Graph& graph, Node& node, const Edges& edges, bool valued);

}  // namespace ramify
