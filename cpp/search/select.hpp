// Which edge a descent takes: decoupled PUCT of DESIGN §1, for one chooser or two.
#pragma once

#include <limits>

#include "search/graph.hpp"
#include "search/settings.hpp"

namespace ramify {

// How values are put on a common scale before they meet the exploration term: (q - low) / width.
struct Range {
  float low = 0.0f;
  float width = 1.0f;
  bool active = false;
  float of(float q) const { return active ? (q - low) / width : q; }
};
using Ranges = Range[2];

constexpr std::uint32_t kUntried = std::numeric_limits<std::uint32_t>::max();

struct Pick {
  std::uint32_t edge;  // index of a tried edge, or kUntried: open the next one (or `pair`, where both choose)
  std::uint32_t pair;
  float fpu[2];  // what an untried edge counts as until its child has a value
};

Pick select(const Graph& graph, const Settings& settings, const Node& node, const Ranges& ranges);

// Brings the edge values up to date where children are shared and may have changed through other parents.
void refresh_edges(const Graph& graph, const Settings& settings, const Node& node);

// Per word of one player: visits and value (the marginal value under the settings' opponent weights, in raw units; nan
// where nothing was tried). For a node with one chooser, these are the edges' own.
struct Marginals {
  std::vector<std::uint32_t> visits;
  std::vector<float> value;
};
void marginals(const Graph& graph, const Settings& settings, const Node& node, int player, Marginals& out);

// What selection compares at a node: a score per word of an acting player.
std::vector<float> outcome_scores(const Graph& graph, const Settings& settings, const Node& node, int player,
                                  const Ranges& ranges);

// First-play urgency of a player at a node, on the scale of `range`; `visited_prior` is the prior mass already tried.
float first_play(const Settings& settings, const Node& node, int player, double visited_prior, const Range& range);

}  // namespace ramify
