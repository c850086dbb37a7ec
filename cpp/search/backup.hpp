// What a visit changes on the way back: the idempotent recursion of DESIGN §1.
#pragma once

#include "search/graph.hpp"
#include "search/settings.hpp"

namespace ramify {

// Takes over the child's value into edge `edge`; returns the edge's values.
void update_edge(const Graph& graph, const Settings& settings, const Node& node, std::uint32_t edge);

// Recomputes the node's value from its evaluation and its edges.
void update_value(const Graph& graph, const Settings& settings, Node& node);

}  // namespace ramify
