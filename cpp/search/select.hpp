// Which edge a descent takes: decoupled PUCT, for one chooser or two (docs/methods/search.md).
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "search/graph.hpp"
#include "search/settings.hpp"

namespace ramify {

// How values are put on a common scale before they meet the exploration term: (q - low) / width.
struct Range {
  double low = 0.0;
  double width = 1.0;
  bool active = false;
  float of(float q) const { return active ? static_cast<float>((static_cast<double>(q) - low) / width) : q; }
};
using Ranges = Range[2];

constexpr std::uint32_t kUntried = std::numeric_limits<std::uint32_t>::max();

struct Pick {
  std::uint32_t edge;  // index of a tried edge, or kUntried: open a new one
  std::uint32_t pair;  // for a new edge where both choose: its outcomes; where one does: place of its word
  float fpu[2];  // what an untried edge counts as until its child has a value
};

// What is known of a player's outcomes, in the order of its words.
struct OutcomeCounts {
  std::vector<std::uint32_t> visits;
  std::vector<double> values;  // 0 where unknown
  std::vector<char> known;
};
OutcomeCounts count_outcomes(const Graph& graph, const Settings& settings, const Node& node, int player);

// The edge of a pair of outcomes, where both choose; kUntried if there is none.
inline std::uint32_t find_pair(const Graph& graph, const Node& node, const Edges& edges, std::uint32_t pair) {
  if (node.tallied) {
    const std::uint8_t edge = graph.marginals(node).edge_of(pair);
    return edge == Marginals::kNoEdge ? kUntried : edge;
  }
  for (std::uint32_t e = 0; e < node.opened; ++e)
    if (edges.pair[e] == pair) return e;
  return kUntried;
}
inline std::uint32_t find_pair(const Graph& graph, const Node& node, std::uint32_t pair) {
  return node.opened ? find_pair(graph, node, graph.edges(node), pair) : kUntried;
}

// Root only: an outcome that has been tried, but fewer times than forced playouts ask for, is chosen in place of what
// selection chose; with ForcedBy::kPair, a pair of tried outcomes.
Pick force(const Graph& graph, const Settings& settings, const Node& node, Pick pick);

Pick select(const Graph& graph, const Settings& settings, const Node& node, const Ranges& ranges);

// Whether a full graph can be searched on along this edge: it has a child, no chance event that has none itself, and if there
// is no memory, one that does not need any more.
inline bool leads_on(const Graph& graph, const Edges& edges, std::uint32_t edge) {
  const NodeId child = child_of(edges, edge);
  if (!child) return false;
  const Status status = load(graph.node(child).status);
  return status != Status::kUnvalued && (!graph.out_of_memory() || status != Status::kNew);
}

// The best of the edges that lead on, for a graph that has no room for another; kUntried if there is none. Where both choose, the best is the greatest sum of the players' scores.
std::uint32_t select_known(const Graph& graph, const Settings& settings, const Node& node, const Ranges& ranges);

// Brings the edge values up to date where children are shared and may have changed through other parents.
void refresh_edges(const Graph& graph, const Settings& settings, const Node& node);

// Per word of one player: its value in plain units (first-play urgency where nothing was tried) and the score that
// selection would compare now (none for a passive player). For reports.
struct OutcomeView {
  std::vector<float> values;
  std::vector<float> scores;
};
OutcomeView view_outcomes(const Graph& graph, const Settings& settings, const Node& node, int player,
                          const Ranges& ranges);

// Square roots of small numbers of visits: a descent waits for one at every level.
inline const auto kRoots = [] {
  std::array<double, 512> roots{};
  for (std::size_t n = 0; n < roots.size(); ++n) roots[n] = std::sqrt(static_cast<double>(n));
  return roots;
}();

// The part of the PUCT bonus that all outcomes share: c(N) * sqrt(N), c(N) = c_puct + log((N + c_base + 1) / c_base).
inline float exploration(const Settings& s, const Node& node) {
  const std::uint32_t visits = node.visits - (s.parent_visits == ParentVisits::kNode ? 0 : 1);
  const double n = visits;
  const double c = s.c_base > 0.0 ? s.c_puct + std::log((n + s.c_base + 1.0) / s.c_base) : s.c_puct;
  return static_cast<float>(c * (visits < kRoots.size() ? kRoots[visits] : std::sqrt(n)));
}

// First-play urgency of a player at a node, on the scale of `range`; `visited_prior` is the prior mass already tried.
inline float first_play(const Settings& s, const Node& node, int player, double visited_prior, const Range& range) {
  if (s.fpu == FirstPlay::kZero) return 0.0f;
  const double reduction = s.fpu == FirstPlay::kParent ? s.fpu_offset : s.fpu_offset * std::sqrt(visited_prior);
  return range.of(static_cast<float>(static_cast<double>(load(node.value[player])) - reduction));
}

}  // namespace ramify
