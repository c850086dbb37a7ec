// External-sampling Monte-Carlo counterfactual regret minimisation (Lanctot et al. 2009) on a game graph.
#pragma once

#include <vector>

#include "search/game_graph.hpp"

namespace ramify {

// The average strategies by choice, for the zero-sum game of half differences. In each iteration each player once tries
// all of its outcomes, while the other draws one in every position.
std::vector<double> mccfr(const GameGraph& graph, std::int64_t iterations, std::uint64_t seed, Budget& budget);

}  // namespace ramify
