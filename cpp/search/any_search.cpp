#include "search/any_search.hpp"

#include <algorithm>
#include <limits>

namespace ramify {

void SearchStats::add(const SearchStats& other) {
  simulations += other.simulations;
  evaluations += other.evaluations;
  cache_hits += other.cache_hits;
  cache_misses += other.cache_misses;
  transpositions += other.transpositions;
  short_circuits += other.short_circuits;
  collisions += other.collisions;
  terminals += other.terminals;
  solved += other.solved;
  cycles += other.cycles;
  full += other.full;
  turns += other.turns;
  max_depth = std::max(max_depth, other.max_depth);
}

std::int64_t AnySearch::left(std::int64_t most_simulations, std::int64_t most_evaluations) const {
  if (proven()) return 0;
  const std::int64_t left = most_simulations - simulations() - in_flight();
  if (left <= 0) return 0;
  if (most_evaluations == std::numeric_limits<std::int64_t>::max()) return left;  // spares a look at all of the stats
  return std::clamp<std::int64_t>(most_evaluations - stats().evaluations - in_flight(), 0, left);
}

}  // namespace ramify
