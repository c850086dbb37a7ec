// Where chance decides: how many outcomes of an event a search looks at, which one a visit goes to, and how much each counts
// in the event's value. docs/methods/search.md derives it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "search/select.hpp"

namespace ramify {

// Progressive widening: whether an event with so many outcomes looks at them little by little.
inline bool widens(const Settings& s, std::uint32_t outcomes) {
  return s.chance_widening > 0.0 && outcomes > s.chance_explicit;
}

// How many of the first `visits` visits of an event draw an outcome by its probability: all, or if it widens
// min(n, ceil(k * n^alpha)). The others go to outcomes that are known. Every visit adds at most one.
inline std::uint32_t draws_among(const Settings& s, std::uint32_t outcomes, std::uint32_t visits) {
  if (!widens(s, outcomes)) return visits;
  const double most = std::ceil(s.chance_widening * std::pow(static_cast<double>(visits), s.chance_exponent));
  return most < static_cast<double>(visits) ? static_cast<std::uint32_t>(most) : visits;
}

// The place of the outcome at this point of [0, 1), among those that `allowed` accepts; kUntried if it accepts none.
template <class Allowed>
std::uint32_t outcome_at(const ChanceWords& chance, double point, Allowed allowed) {
  double total = 0.0;
  for (std::uint32_t i = 0; i < chance.count; ++i)
    if (allowed(i)) total += static_cast<double>(chance.probability[i]);
  std::uint32_t chosen = kUntried;
  double left = point * total;
  for (std::uint32_t i = 0; i < chance.count && left >= 0.0; ++i) {
    if (!allowed(i)) continue;
    chosen = i;
    left -= static_cast<double>(chance.probability[i]);
  }
  return chosen;
}

// The least weight of the outcomes that are `counted` when an event widens: each counts by its probability, or by this if
// that is less, so that the weights sum to 1. What is likely was drawn for sure, and counts by its probability; what is
// not stands for the others that might have been drawn in its place. 0 once all outcomes are counted.
template <class Counted>
double least_weight(const ChanceWords& chance, Counted counted) {
  double least = 2.0;  // more than any probability: nothing is likely before the first look
  while (true) {
    double likely = 0.0;
    std::uint32_t others = 0;
    for (std::uint32_t i = 0; i < chance.count; ++i) {
      if (!counted(i)) continue;
      const auto probability = static_cast<double>(chance.probability[i]);
      if (probability >= least) likely += probability;
      else ++others;
    }
    if (!others) return 0.0;
    const double share = std::max(0.0, 1.0 - likely) / others;
    if (share >= least) return least;
    least = share;
  }
}

// The place of the outcome whose visits are furthest behind its weight, among those known that `allowed` accepts; kUntried if
// it accepts none. Visits then come to lie in proportion to the weights.
template <class Allowed>
std::uint32_t outcome_owed(const ChanceWords& chance, const Edges& edges, Allowed allowed) {
  const auto known = [&](std::uint32_t i) { return chance.edge[i] != ChanceWords::kNoEdge; };
  const double least = least_weight(chance, known);
  std::uint32_t chosen = kUntried;
  double most = -1.0;
  for (std::uint32_t i = 0; i < chance.count; ++i) {
    if (!known(i) || !allowed(i)) continue;
    const double owed = std::max(static_cast<double>(chance.probability[i]), least) / (1.0 + edges.visits[chance.edge[i]]);
    if (owed > most) most = owed, chosen = i;
  }
  return chosen;
}

// Calls `use(edge, weight)` for every outcome that has a value, in the order of the game. Weights need not sum to 1.
template <class Use>
void for_weights(const Settings& s, const ChanceWords& chance, const Edges& edges, Use use) {
  const auto valued = [&](std::uint32_t i) {
    return chance.edge[i] != ChanceWords::kNoEdge && !(edges.child[chance.edge[i]] & kPending);
  };
  const double least = widens(s, chance.count) ? least_weight(chance, valued) : 0.0;
  for (std::uint32_t i = 0; i < chance.count; ++i)
    if (valued(i)) use(chance.edge[i], std::max(static_cast<double>(chance.probability[i]), least));
}

}  // namespace ramify
