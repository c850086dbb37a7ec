// Selection for nodes where both players choose at once and no pure choice may be right: each player keeps a strategy
// that it learns, and the average of all its strategies is the answer.
//
//   regret   regret matching+ on the whole table of child values, with linear averaging
//   exp3     exponential weights on what the chosen pair brought
//
// docs/methods/simultaneous.md derives both and says what they find in games that are not zero-sum.
#pragma once

#include "base/rng.hpp"
#include "search/graph.hpp"
#include "search/select.hpp"
#include "search/settings.hpp"

namespace ramify {

inline bool mixes(const Settings& s) { return s.selection == Selection::kRegret || s.selection == Selection::kExp3; }

// A pair of outcomes drawn from the players' present strategies and some exploration.
Pick sample_pair(const Graph& graph, const Settings& settings, const Node& node, Rng& rng);

// Lets the players learn from a visit of `edge`, whose value is up to date.
void learn(const Graph& graph, const Settings& settings, Node& node, const Edges& edges, std::uint32_t edge);

// The node's value: what the average strategies bring against each other. Pairs that were never tried count as the
// evaluation of the node.
void update_mixed_value(const Graph& graph, Node& node, const Edges& edges);

// A player's average strategy, one probability per word.
std::vector<float> average_strategy(const Graph& graph, const Node& node, int player);

}  // namespace ramify
