// Which edge a descent takes: decoupled PUCT of DESIGN §1, for one chooser or two.
#pragma once

#include <limits>

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
  std::uint32_t edge;  // index of a tried edge, or kUntried: open the next one (or `pair`, where both choose)
  std::uint32_t pair;
  float fpu[2];  // what an untried edge counts as until its child has a value
};

Pick select(const Graph& graph, const Settings& settings, const Node& node, const Ranges& ranges);

// The best of the edges that have a child, for a graph that has no room for another; kUntried if there is none. Where
// both choose, the best is the greatest sum of the players' scores.
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

// First-play urgency of a player at a node, on the scale of `range`; `visited_prior` is the prior mass already tried.
float first_play(const Settings& settings, const Node& node, int player, double visited_prior, const Range& range);

}  // namespace ramify
