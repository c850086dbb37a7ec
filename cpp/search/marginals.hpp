// What is known of each player's outcomes where both choose, kept from visit to visit: a visit changes one pair, and with it
// one outcome of each player.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "search/node.hpp"

namespace ramify {

// Behind the words of a node with `tallied`. Sums change by differences, whose rounding adds up: they are made anew whenever
// the visits have doubled, so that the error stays below visits * 2^-53, far below that of the floats made of them.
struct Marginals {
  static constexpr std::uint32_t kFew = 4;          // edges up to which sums cost less than the memory to keep them
  static constexpr std::uint32_t kMostPairs = 255;  // above, the table would be larger than what it spares
  static constexpr std::uint32_t kMostOutcomes = kMostPairs / 2;  // of one player, because the other has at least two
  static constexpr std::uint8_t kNoEdge = 255;
  static constexpr std::uint32_t kEight = 8;  // so many numbers can be read from the start of every array

  // The whole node, and the edge that is about to change.
  struct Head {
    double sum[2];          // visits * value of the pairs that have a value
    std::uint32_t counted;  // visits of these
    std::uint32_t changed;  // 1 + the edge that is not what the sums know it as; 0: none
    std::uint32_t visits;   // of that edge, as the sums know it, and so on
    std::uint32_t known;
    float q[2];
  };

  Head* head;
  double* sum[2];             // per outcome, of its pairs
  std::uint32_t* counted[2];  // likewise
  std::uint32_t* visits[2];   // of all its pairs
  float* value[2];            // sum / counted; NaN while there is none
  std::uint8_t* edge;         // by pair, rows of player 0; kNoEdge: not tried
  std::uint32_t outcomes[2];

  static bool suit(const Node& node) {
    return node.joint() && std::uint32_t{node.outcomes[0]} * node.outcomes[1] <= kMostPairs;
  }
  // Of words and marginals together.
  static std::uint32_t words(const Node& node) {
    const std::uint32_t n0 = node.outcomes[0], n1 = node.outcomes[1], n = n0 + n1;
    return aligned(n) + sizeof(Head) / 4 + 5 * n + std::max(kEight - 2, (n0 * n1 + 3) / 4);
  }
  [[gnu::always_inline]] static Marginals of(std::uint32_t* words, const Node& node) {  // most callers need a part of it
    const std::uint32_t n0 = node.outcomes[0], n1 = node.outcomes[1], n = n0 + n1;
    std::uint32_t* block = words + aligned(n);
    Marginals m;
    m.head = reinterpret_cast<Head*>(block);
    block += sizeof(Head) / 4;
    m.sum[0] = reinterpret_cast<double*>(block);
    m.counted[0] = block + 2 * n;
    m.visits[0] = block + 3 * n;
    m.value[0] = reinterpret_cast<float*>(block + 4 * n);
    m.sum[1] = m.sum[0] + n0;
    m.counted[1] = m.counted[0] + n0;
    m.visits[1] = m.visits[0] + n0;
    m.value[1] = m.value[0] + n0;
    m.edge = reinterpret_cast<std::uint8_t*>(block + 5 * n);
    m.outcomes[0] = n0;
    m.outcomes[1] = n1;
    return m;
  }

  std::uint8_t& edge_of(std::uint32_t pair) const { return edge[(pair >> 16) * outcomes[1] + (pair & 0xffffu)]; }

  // Notes an edge before its visits or its value change. Nothing is computed until another edge changes or somebody asks.
  [[gnu::always_inline]] static void note(std::uint32_t* words, const Node& node, const Edges& edges, std::uint32_t e) {
    Head* const head = reinterpret_cast<Head*>(words + aligned(node.outcomes[0] + std::uint32_t{node.outcomes[1]}));
    if (head->changed == e + 1) return;
    if (head->changed) [[unlikely]] of(words, node).settle_now(edges);
    head->changed = e + 1;
    head->visits = edges.visits[e];
    head->known = known_visits(edges, e);
    for (int p = 0; p < 2; ++p) head->q[p] = edges.q[p][e];
  }

  // Brings the sums up to date; only where an edge has changed.
  [[gnu::always_inline]] void settle(const Edges& edges) const {
    const std::uint32_t e = head->changed - 1, pair = edges.pair[e], known = known_visits(edges, e);
    const std::uint32_t more = edges.visits[e] - head->visits, more_known = known - head->known;
    head->changed = 0;
    head->counted += more_known;
    if (std::has_single_bit(head->counted)) return sum_up(edges);
    const double now = static_cast<std::int32_t>(known), before = static_cast<std::int32_t>(head->known);
    for (int p = 0; p < 2; ++p) {
      const std::uint32_t i = p == 0 ? pair >> 16 : pair & 0xffffu;
      const double change = now * static_cast<double>(edges.q[p][e]) - before * static_cast<double>(head->q[p]);
      head->sum[p] += change;
      sum[p][i] += change;
      visits[p][i] += more;
      counted[p][i] += more_known;
      set_value(p, i);
    }
  }

  void settle_now(const Edges& edges) const;  // the same, for where it is seldom
  // Makes all sums anew; the table is right.
  void sum_up(const Edges& edges) const;

 private:
  static constexpr std::uint32_t aligned(std::uint32_t words) { return (words + 1) & ~1u; }  // for doubles
  static std::uint32_t known_visits(const Edges& edges, std::uint32_t e) {  // pending: none
    return edges.visits[e] & ((edges.child[e] >> 31) - 1u);
  }
  void set_value(int p, std::uint32_t i) const {
    value[p][i] = counted[p][i] ? static_cast<float>(sum[p][i] / static_cast<std::int32_t>(counted[p][i]))
                                : std::numeric_limits<float>::quiet_NaN();
  }
};
static_assert(sizeof(Marginals::Head) % 8 == 0);

}  // namespace ramify
