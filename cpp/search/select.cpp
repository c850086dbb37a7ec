#include "search/select.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ramify {
namespace {

// c(N) * sqrt(N) of DESIGN §1.
float exploration(const Settings& s, const Node& node) {
  const double n = s.parent_visits == ParentVisits::kNode ? node.visits : node.visits - 1.0;
  const double c = s.c_base > 0.0 ? s.c_puct + std::log((n + s.c_base + 1.0) / s.c_base) : s.c_puct;
  return static_cast<float>(c * std::sqrt(n));
}

inline float score_of(float q, float u, float prior, std::uint32_t visits) {
  return q + u * prior / static_cast<float>(static_cast<std::int32_t>(visits + 1));
}

// Orders floats as integers do: the compiler can then find a maximum four at a time without relaxing float rules.
inline std::int32_t ordered(float x) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

// The best seen so far; ties go to the larger word: the higher prior, then the lower action.
struct Best {
  std::int32_t score = std::numeric_limits<std::int32_t>::min();
  std::uint32_t word = 0;
  std::uint32_t index = 0;
  void offer(std::int32_t new_score, std::uint32_t new_word, std::uint32_t new_index) {
    if (new_score > score || (new_score == score && new_word > word)) *this = {new_score, new_word, new_index};
  }
};

constexpr std::uint32_t kBlock = 32;

template <bool kScaled>
void scan_edges(const Edges& edges, const std::uint32_t* words, std::uint32_t count, int player, float u, float fpu,
                const Range& range, Best& best) {
  const float* q = edges.q[player];
  const float low = range.low, width = range.width;
  std::int32_t scores[kBlock];
  for (std::uint32_t start = 0; start < count; start += kBlock) {
    const std::uint32_t n = std::min(kBlock, count - start);
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t visits = edges.visits[start + i];
      const float value = kScaled ? (q[start + i] - low) / width : q[start + i];
      scores[i] = ordered(score_of(visits ? value : fpu, u, decode_prior(words[start + i]), visits));
    }
    std::int32_t top = scores[0];
    for (std::uint32_t i = 1; i < n; ++i) top = std::max(top, scores[i]);
    if (top < best.score) continue;
    for (std::uint32_t i = 0; i < n; ++i)
      if (scores[i] == top) best.offer(top, words[start + i], start + i);
  }
}

double visited_prior(const Edges& edges, const std::uint32_t* words, std::uint32_t count) {
  double mass = 0.0;
  for (std::uint32_t e = 0; e < count; ++e)
    if (edges.visits[e]) mass += decode_prior(words[e]);
  return mass;
}

Pick select_single(const Graph& graph, const Settings& s, const Node& node, const Ranges& ranges) {
  const int player = node.chooser();
  const Range& range = ranges[player];
  const std::uint32_t* words = graph.words(node, player);
  const float u = exploration(s, node);
  Best best;
  float fpu;
  if (node.opened) {
    const Edges edges = graph.edges(node);
    fpu = first_play(s, node, player,
                     s.fpu == FirstPlay::kReduction ? visited_prior(edges, words, node.opened) : 0.0, range);
    if (range.active) scan_edges<true>(edges, words, node.opened, player, u, fpu, range, best);
    else scan_edges<false>(edges, words, node.opened, player, u, fpu, range, best);
  } else {
    fpu = first_play(s, node, player, 0.0, range);
  }
  if (node.opened < node.outcomes[player])
    best.offer(ordered(score_of(fpu, u, decode_prior(words[node.opened]), 0)), words[node.opened], kUntried);
  Pick pick{best.index, 0, {0.0f, 0.0f}};
  pick.fpu[player] = fpu;
  return pick;
}

double visited_prior(const Marginals& seen, const std::uint32_t* words) {
  double mass = 0.0;
  for (std::size_t i = 0; i < seen.visits.size(); ++i)
    if (seen.visits[i]) mass += static_cast<double>(decode_prior(words[i]));
  return mass;
}

std::uint32_t select_outcome(const Settings& s, const Node& node, const std::uint32_t* words, int player, float u,
                             const Marginals& seen, const Range& range, float& fpu) {
  fpu = first_play(s, node, player, visited_prior(seen, words), range);
  Best best;
  for (std::uint32_t i = 0; i < node.outcomes[player]; ++i) {
    const float q = std::isnan(seen.value[i]) ? fpu : range.of(seen.value[i]);
    best.offer(ordered(score_of(q, u, decode_prior(words[i]), seen.visits[i])), words[i], i);
  }
  return best.index;
}

Pick select_joint(const Graph& graph, const Settings& s, const Node& node, const Ranges& ranges) {
  thread_local Marginals seen;  // reused: selection allocates nothing
  const float u = exploration(s, node);
  Pick pick{kUntried, 0, {0.0f, 0.0f}};
  std::uint32_t chosen[2];
  for (int player = 0; player < 2; ++player) {
    marginals(graph, s, node, player, seen);
    chosen[player] =
        select_outcome(s, node, graph.words(node, player), player, u, seen, ranges[player], pick.fpu[player]);
  }
  pick.pair = chosen[0] * node.outcomes[1] + chosen[1];
  if (!node.opened) return pick;
  const Edges edges = graph.edges(node);
  for (std::uint32_t e = 0; e < node.opened; ++e)
    if (edges.pair[e] == pick.pair) {
      pick.edge = e;
      break;
    }
  return pick;
}

// Weights over the other player's outcomes for options A, B and C of seed 000 (D weighs by the edge's own visits).
void opponent_weights(const Graph& graph, const Settings& s, const Node& node, int other, const Edges& edges,
                      std::vector<double>& weights) {
  weights.assign(node.outcomes[other], 0.0);
  if (s.opponent_weights != OpponentWeights::kPrior)
    for (std::uint32_t e = 0; e < node.opened; ++e) {
      const std::uint32_t pair = edges.pair[e];
      weights[other ? pair % node.outcomes[1] : pair / node.outcomes[1]] += edges.visits[e];
    }
  if (s.opponent_weights != OpponentWeights::kVisits) {
    const std::uint32_t* words = graph.words(node, other);
    for (std::size_t j = 0; j < weights.size(); ++j) weights[j] += static_cast<double>(decode_prior(words[j]));
  }
}

}  // namespace

float first_play(const Settings& s, const Node& node, int player, double visited, const Range& range) {
  if (s.fpu == FirstPlay::kZero) return 0.0f;
  const float reduction =
      s.fpu == FirstPlay::kParent ? s.fpu_offset : static_cast<float>(s.fpu_offset * std::sqrt(visited));
  return range.of(load(node.value[player]) - reduction);
}

void marginals(const Graph& graph, const Settings& s, const Node& node, int player, Marginals& out) {
  thread_local std::vector<double> sum, weight, other_weights;
  const std::size_t n = node.outcomes[player];
  out.visits.assign(n, 0);
  out.value.assign(n, std::numeric_limits<float>::quiet_NaN());
  if (!node.opened) return;
  sum.assign(n, 0.0);
  weight.assign(n, 0.0);
  const Edges edges = graph.edges(node);
  const bool conditional = s.opponent_weights == OpponentWeights::kConditional || !edges.pair;
  if (!conditional) opponent_weights(graph, s, node, 1 - player, edges, other_weights);
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    const auto [first, second] = outcome_pair(node, edges, e);
    const std::uint32_t own = player ? second : first, other = player ? first : second;
    out.visits[own] += edges.visits[e];
    if (edges.child[e] & kPending || !edges.visits[e]) continue;
    const double w = conditional ? edges.visits[e] : other_weights[other];
    weight[own] += w;
    sum[own] += w * static_cast<double>(edges.q[player][e]);
  }
  for (std::size_t i = 0; i < n; ++i)
    if (weight[i] > 0.0) out.value[i] = static_cast<float>(sum[i] / weight[i]);
}

std::vector<float> outcome_scores(const Graph& graph, const Settings& s, const Node& node, int player,
                                  const Ranges& ranges) {
  const std::uint32_t* words = graph.words(node, player);
  Marginals seen;
  marginals(graph, s, node, player, seen);
  const float u = exploration(s, node);
  const float fpu = first_play(s, node, player, visited_prior(seen, words), ranges[player]);
  std::vector<float> scores;
  for (std::size_t i = 0; i < seen.visits.size(); ++i) {
    const float q = std::isnan(seen.value[i]) ? fpu : ranges[player].of(seen.value[i]);
    scores.push_back(score_of(q, u, decode_prior(words[i]), seen.visits[i]));
  }
  return scores;
}

void refresh_edges(const Graph& graph, const Settings& s, const Node& node) {
  if (!node.opened) return;
  const Edges edges = graph.edges(node);
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    const NodeId id = edges.child[e] & ~kPending;
    if (!id) continue;
    const Node& child = graph.node(id);
    if (load(child.status) < Status::kReady) continue;
    edges.child[e] = id;
    take_value(edges, e, child, s.discount);
  }
}

Pick select(const Graph& graph, const Settings& settings, const Node& node, const Ranges& ranges) {
  if (settings.graph) refresh_edges(graph, settings, node);
  return node.joint() ? select_joint(graph, settings, node, ranges)
                      : select_single(graph, settings, node, ranges);
}

}  // namespace ramify
