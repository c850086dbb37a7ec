#include "search/any_search.hpp"

#include <algorithm>

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
  max_depth = std::max(max_depth, other.max_depth);
}

}  // namespace ramify
