// Policies computed from what a search found at its root: what ramify.engine.policies computes, for games played by the
// core. tests/engine/test_native_policies.py holds the two equal.
#pragma once

#include <cstdint>
#include <vector>

#include "search/any_search.hpp"
#include "search/equilibria.hpp"
#include "search/settings.hpp"

namespace ramify {

enum class PolicyMethod : std::uint8_t { kVisits, kPruned, kNash, kAverage, kImproved };

// How payoffs become an equilibrium; ramify.engine.policies.NashConfig is the public face.
struct NashSettings {
  Choose choose = Choose::kCentroid;
  double min_visits = 5.0;
  bool pruned = false;  // outcomes are left out by their pruned visits
};

struct PolicySettings {
  PolicyMethod method = PolicyMethod::kVisits;
  NashSettings nash;
  Settings search;  // of the search that is reported on
};

// Edge visits without those that selection would not have made; [n0, n1].
std::vector<double> pruned_visits(const Report& found, const Settings& search);

// Weights of a player's outcomes, not normalised: by the method, without what proofs rule out, and priors where nothing
// else is known.
std::vector<double> policy_weights(const Report& found, int player, const PolicySettings& settings);

// Weights to the power of 1 / temperature, the largest being 1.
void temper(std::vector<double>& weights, double temperature);

// The outcome to play at temperature 0: the largest weight (ties: value, then prior, then the lower action). By visits
// in Gumbel search: the winner of its race, unless proofs rule out some outcomes.
std::size_t greedy_outcome(const Report& found, int player, const std::vector<double>& weights,
                           const PolicySettings& settings);

}  // namespace ramify
