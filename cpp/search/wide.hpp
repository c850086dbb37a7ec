// The innermost loops of a search with the vectors of AVX2: eight numbers at a time, four doubles, and loads that leave out
// lanes. Every number is computed by the same operations in the same order as without, so the results are the same. Only to
// be called if `use_wide`; on other processors there is nothing behind them.
#pragma once

#include <cstdint>

#include "search/node.hpp"

namespace ramify {

constexpr std::uint32_t kWide = 8;

bool has_wide_vectors();
inline bool use_wide = has_wide_vectors();  // tests switch it off, to compare

// The best of `count` words, at most kWide: the first `opened` are tried edges with these values and visits, and one more may
// be the next to try. By PUCT, ties to the larger word; without jumps, because which one is ahead changes from visit to visit.
std::uint32_t best_of_few(const float* q, const std::uint32_t* visits, const std::uint32_t* words, std::uint32_t opened,
                          std::uint32_t count, float u, float fpu);

// The best of kWide to kMany edges, with its score as an integer of the same order.
struct WideBest {
  std::int32_t score;
  std::uint32_t word, index;
};
constexpr std::uint32_t kMany = 64;
WideBest best_of_many(const float* q, const std::uint32_t* visits, const std::uint32_t* words, std::uint32_t n, float u, float fpu);

// As update_value, of a node without marginals; `block` and `capacity` are those of its edges.
void update_value_wide(Node& node, const std::uint32_t* block, std::uint32_t capacity);
// The same after an edge has got these values, which are written here: vectors that are read right after one of their numbers
// was written have to wait for it, at every level on the way up.
void update_value_wide(Node& node, std::uint32_t* block, std::uint32_t capacity, std::uint32_t edge, float first, float second);

}  // namespace ramify
