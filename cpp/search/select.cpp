#include "search/select.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <tuple>

#include "base/lanes.hpp"
#include "search/wide.hpp"

namespace ramify {
namespace {

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

// Scores of four edges, as integers of the same order; every operation as in `score_of`.
inline Int4 scores_of(Float4 q, Uint4 visits, Uint4 words, Float4 u, Float4 fpu) {
  const Float4 prior = std::bit_cast<Float4>(((words >> 4) & 0x0ffff000u) | kPriorBase);
  const Float4 tried = __builtin_convertvector(std::bit_cast<Int4>(visits + 1u), Float4);
  const Int4 bits = std::bit_cast<Int4>((visits != 0u ? q : fpu) + u * prior / tried);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

constexpr std::uint32_t kBlock = 64;
static_assert(kBlock <= kMany);

// The best of 4 to kBlock edges. Four at a time; the last four overlap those before them. Three passes: all scores and the
// highest; the largest word that reaches it; where that word is.
void offer_block(const float* q, const std::uint32_t* visits, const std::uint32_t* words, std::uint32_t n, float u, float fpu,
                 std::uint32_t start, Best& best) {
  Int4 scores[kBlock / 4], tops = Int4{} + std::numeric_limits<std::int32_t>::min();
  const auto for_fours = [n](auto work) {
    for (std::uint32_t i = 0; i < n; i += 4) work(i / 4, i + 4 <= n ? i : n - 4);
  };
  for_fours([&](std::uint32_t k, std::uint32_t at) {
    scores[k] = scores_of(lanes<Float4>(q + at), lanes<Uint4>(visits + at), lanes<Uint4>(words + at), all(u), all(fpu));
    tops = max4(tops, scores[k]);
  });
  const std::int32_t score = top(tops);
  Uint4 tied{}, places{};
  for_fours([&](std::uint32_t k, std::uint32_t at) {
    tied = max4(tied, lanes<Uint4>(words + at) & std::bit_cast<Uint4>(scores[k] == score));
  });
  const std::uint32_t word = top(tied);
  for_fours([&](std::uint32_t, std::uint32_t at) {
    places |= (Uint4{0, 1, 2, 3} + at) & std::bit_cast<Uint4>(lanes<Uint4>(words + at) == word);
  });
  best.offer(score, word, start + joined(places));
}

// The best of at most kBlock edges, or outcomes.
inline void offer_some(const float* q, const std::uint32_t* visits, const std::uint32_t* words, std::uint32_t n, float u,
                       float fpu, std::uint32_t start, Best& best) {
  if (n >= kWide && use_wide) {
    const WideBest found = best_of_many(q, visits, words, n, u, fpu);
    return best.offer(found.score, found.word, start + found.index);
  }
  if (n >= 4) return offer_block(q, visits, words, n, u, fpu, start, best);
  for (std::uint32_t i = 0; i < n; ++i)
    best.offer(ordered(score_of(visits[i] ? q[i] : fpu, u, decode_prior(words[i]), visits[i])), words[i], start + i);
}

template <bool kScaled>
void scan_edges(const Edges& edges, const std::uint32_t* words, std::uint32_t count, int player, float u, float fpu,
                const Range& range, Best& best) {
  float scaled[kScaled ? kBlock : 1];
  for (std::uint32_t start = 0; start < count; start += kBlock) {
    const std::uint32_t n = std::min(kBlock, count - start);
    const float* q = edges.q[player] + start;
    if constexpr (kScaled) {  // the urgency is on the scale already
      for (std::uint32_t i = 0; i < n; ++i) scaled[i] = edges.child[start + i] & kPending ? fpu : range.of(q[i]);
      q = scaled;
    }
    offer_some(q, edges.visits + start, words + start, n, u, fpu, start, best);
  }
}

double visited_prior(const Edges& edges, const std::uint32_t* words, std::uint32_t count) {
  double mass = 0.0;
  for (std::uint32_t e = 0; e < count; ++e)
    if (edges.visits[e]) mass += decode_prior(words[e]);
  return mass;
}

// As select_single where all edges and the next one to try fit into one vector.
Pick select_few(const Graph& graph, const Node& node, int player, const std::uint32_t* words, std::uint32_t count, float u,
                float fpu) {
  Pick pick{kUntried, node.opened, {0.0f, 0.0f}};
  pick.fpu[player] = fpu;
  if (!node.opened) return pick;
  const Edges edges = graph.edges(node);
  const std::uint32_t best = best_of_few(edges.q[player], edges.visits, words, node.opened, count, u, fpu);
  if (best != node.opened) pick.edge = best;
  return pick;
}

Pick select_single(const Graph& graph, const Settings& s, const Node& node, const Ranges& ranges) {
  const int player = node.chooser();
  const Range& range = ranges[player];
  const std::uint32_t* words = graph.words(node, player);
  const float u = exploration(s, node);
  const std::uint32_t count = node.opened + (node.opened < node.outcomes[player]);
  if (count <= kWide && use_wide && !range.active && s.fpu != FirstPlay::kReduction)
    return select_few(graph, node, player, words, count, u, first_play(s, node, player, 0.0, range));
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
  Pick pick{best.index, node.opened, {0.0f, 0.0f}};
  pick.fpu[player] = fpu;
  return pick;
}

// What is known of one outcome of one player: its visits, and its value as sum / weight.
struct Tally {
  std::uint32_t visits;
  double weight;
  double sum;
};

// Tallies of both players' outcomes; on the stack unless there are many.
class Tallies {
 public:
  Tallies(const Graph& graph, const Settings& s, const Node& node)
      : Tallies(graph, s, node, node.opened ? graph.edges(node) : Edges{}) {}
  Tallies(const Graph& graph, const Settings& s, const Node& node, const Edges& edges) {
    const std::size_t n = std::size_t{node.outcomes[0]} + node.outcomes[1];
    if (n > kSmall) large_.resize(n);
    of_[0] = n > kSmall ? large_.data() : reinterpret_cast<Tally*>(small_);
    of_[1] = of_[0] + node.outcomes[0];
    std::memset(static_cast<void*>(of_[0]), 0, n * sizeof(Tally));
    if (s.opponent_weights == OpponentWeights::kConditional) count_conditional(node, edges);
    else count_weighted(graph, s, node, edges);
  }
  Tallies(const Tallies&) = delete;
  Tallies& operator=(const Tallies&) = delete;
  const Tally* of(int player) const { return of_[player]; }

 private:
  static constexpr std::size_t kSmall = 24;

  // Option D: an outcome is worth what followed it, weighted by how often each response did.
  void count_conditional(const Node& node, const Edges& edges) {
    for (std::uint32_t e = 0; e < node.opened; ++e) {
      const auto [first, second] = outcome_pair(node, edges, e);
      const std::uint32_t visits = edges.visits[e];
      const double weight = edges.child[e] & kPending ? 0.0 : static_cast<std::int32_t>(visits);
      add(of_[0][first], visits, weight, edges.q[0][e]);
      add(of_[1][second], visits, weight, edges.q[1][e]);
    }
  }

  // Options A, B and C: responses weigh as much as the other player's priors, visits or both make them.
  void count_weighted(const Graph& graph, const Settings& s, const Node& node, const Edges& edges) {
    std::vector<double> weights[2] = {std::vector<double>(node.outcomes[0]), std::vector<double>(node.outcomes[1])};
    if (s.opponent_weights != OpponentWeights::kPrior)
      for (std::uint32_t e = 0; e < node.opened; ++e) {
        const auto [first, second] = outcome_pair(node, edges, e);
        weights[0][first] += edges.visits[e];
        weights[1][second] += edges.visits[e];
      }
    if (s.opponent_weights != OpponentWeights::kVisits)
      for (int p = 0; p < 2; ++p)
        for (std::size_t i = 0; i < weights[p].size(); ++i)  // a passive player's only outcome is certain
          weights[p][i] += acts(node.acting, p) ? static_cast<double>(decode_prior(graph.words(node, p)[i])) : 1.0;
    for (std::uint32_t e = 0; e < node.opened; ++e) {
      const auto [first, second] = outcome_pair(node, edges, e);
      const std::uint32_t visits = edges.visits[e];
      const bool counts = visits && !(edges.child[e] & kPending);
      add(of_[0][first], visits, counts ? weights[1][second] : 0.0, edges.q[0][e]);
      add(of_[1][second], visits, counts ? weights[0][first] : 0.0, edges.q[1][e]);
    }
  }

  static void add(Tally& tally, std::uint32_t visits, double weight, float q) {
    tally.visits += visits;
    tally.weight += weight;
    tally.sum += weight * static_cast<double>(q);
  }

  alignas(Tally) std::byte small_[kSmall * sizeof(Tally)];
  std::vector<Tally> large_;
  Tally* of_[2];
};

double visited_prior(const Tally* seen, const std::uint32_t* words, std::uint32_t n) {
  double mass = 0.0;
  for (std::uint32_t i = 0; i < n; ++i)
    if (seen[i].visits) mass += static_cast<double>(decode_prior(words[i]));
  return mass;
}

float tally_value(const Tally& tally, float fpu, const Range& range) {
  return tally.weight > 0.0 ? range.of(static_cast<float>(tally.sum / tally.weight)) : fpu;
}

std::uint32_t select_outcome(const Graph& graph, const Settings& s, const Node& node, int player, float u,
                             const Tally* seen, const Range& range, float& fpu) {
  const std::uint32_t* words = graph.words(node, player);
  const std::uint32_t n = node.outcomes[player];
  fpu = first_play(s, node, player, s.fpu == FirstPlay::kReduction ? visited_prior(seen, words, n) : 0.0, range);
  Best best;
  for (std::uint32_t i = 0; i < n; ++i) {
    const float q = tally_value(seen[i], fpu, range);
    best.offer(ordered(score_of(q, u, decode_prior(words[i]), seen[i].visits)), words[i], i);
  }
  return best.index;
}

double visited_prior(const std::uint32_t* visits, const std::uint32_t* words, std::uint32_t n) {
  double mass = 0.0;
  for (std::uint32_t i = 0; i < n; ++i)
    if (visits[i]) mass += static_cast<double>(decode_prior(words[i]));
  return mass;
}

// As `scores_of`, where NaN says that there is no value yet; nothing where there is no outcome.
inline Int4 known_scores(const float* values, const std::uint32_t* visits, const std::uint32_t* words, Int4 there, float u,
                         float fpu) {
  const Float4 value = lanes<Float4>(values);
  const Float4 prior = std::bit_cast<Float4>(((lanes<Uint4>(words) >> 4) & 0x0ffff000u) | kPriorBase);
  const Float4 tried = __builtin_convertvector(std::bit_cast<Int4>(lanes<Uint4>(visits) + 1u), Float4);
  const Int4 bits = std::bit_cast<Int4>((value == value ? value : all(fpu)) + all(u) * prior / tried);
  return there ? bits ^ ((bits >> 31) & 0x7fffffff) : Int4{} + std::numeric_limits<std::int32_t>::min();
}

// The best of up to eight outcomes, as `Best` finds it, without jumps: which one is ahead changes from visit to visit, and so
// does their number. Reads eight numbers everywhere: what follows in the node's block is left out.
std::uint32_t best_of_eight(const float* values, const std::uint32_t* visits, const std::uint32_t* words, std::uint32_t n,
                            float u, float fpu) {
  const Int4 there[2] = {Int4{0, 1, 2, 3} < static_cast<std::int32_t>(n), Int4{4, 5, 6, 7} < static_cast<std::int32_t>(n)};
  const Int4 scores[2] = {known_scores(values, visits, words, there[0], u, fpu),
                          known_scores(values + 4, visits + 4, words + 4, there[1], u, fpu)};
  const std::int32_t score = top(max4(scores[0], scores[1]));
  const Uint4 tied[2] = {lanes<Uint4>(words) & std::bit_cast<Uint4>((scores[0] == score) & there[0]),
                         lanes<Uint4>(words + 4) & std::bit_cast<Uint4>((scores[1] == score) & there[1])};
  const std::uint32_t word = top(max4(tied[0], tied[1]));
  return joined((Uint4{0, 1, 2, 3} & std::bit_cast<Uint4>(tied[0] == word)) |
                (Uint4{4, 5, 6, 7} & std::bit_cast<Uint4>(tied[1] == word)));
}

// As select_outcome, with sums that were kept.
std::uint32_t select_summed(const Graph& graph, const Settings& s, const Node& node, int player, float u,
                            const Marginals& seen, const Range& range, float& fpu) {
  const std::uint32_t* words = graph.words(node, player);
  const std::uint32_t n = node.outcomes[player];
  const std::uint32_t* visits = seen.visits[player];
  fpu = first_play(s, node, player, s.fpu == FirstPlay::kReduction ? visited_prior(visits, words, n) : 0.0, range);
  const float* values = seen.value[player];
  float scaled[Marginals::kMostOutcomes + 1];
  if (range.active) {
    for (std::uint32_t i = 0; i < n; ++i) scaled[i] = range.of(values[i]);
    values = scaled;
  }
  if (n <= Marginals::kEight) return best_of_eight(values, visits, words, n, u, fpu);
  Best best;
  for (std::uint32_t i = 0; i < n; ++i)
    best.offer(ordered(score_of(std::isnan(values[i]) ? fpu : values[i], u, decode_prior(words[i]), visits[i])), words[i], i);
  return best.index;
}

Pick select_tallied(const Graph& graph, const Settings& s, const Node& node, const Ranges& ranges) {
  const Marginals seen = graph.marginals(node);
  if (seen.head->changed) seen.settle_now(graph.edges(node));
  const float u = exploration(s, node);
  Pick pick{kUntried, 0, {0.0f, 0.0f}};
  std::uint32_t chosen[2];
  for (int p = 0; p < 2; ++p)
    chosen[p] = select_summed(graph, s, node, p, u, seen, ranges[p], pick.fpu[p]);
  pick.pair = make_pair_word(chosen[0], chosen[1]);
  const std::uint8_t edge = seen.edge_of(pick.pair);
  if (edge != Marginals::kNoEdge) pick.edge = edge;
  return pick;
}

[[gnu::noinline]] Pick select_joint(const Graph& graph, const Settings& s, const Node& node, const Ranges& ranges) {
  const Edges edges = node.opened ? graph.edges(node) : Edges{};
  const Tallies seen(graph, s, node, edges);
  const float u = exploration(s, node);
  Pick pick{kUntried, 0, {0.0f, 0.0f}};
  std::uint32_t chosen[2];
  for (int p = 0; p < 2; ++p)
    chosen[p] = select_outcome(graph, s, node, p, u, seen.of(p), ranges[p], pick.fpu[p]);
  pick.pair = make_pair_word(chosen[0], chosen[1]);
  pick.edge = find_pair(graph, node, edges, pick.pair);
  return pick;
}

// Whether so many visits are fewer than forced playouts ask for.
bool too_few(const Settings& s, double visits, double prior, double total) {
  if (s.forced_form == ForcedForm::kSqrt) return visits * visits < s.forced_playouts * prior * total;
  return visits < s.forced_playouts * prior * std::sqrt(total);
}

// The outcome that is owed a visit, the one with the highest prior if there are several; kUntried: none.
std::uint32_t owed(const Settings& s, const Node& node, const Tally* seen, const std::uint32_t* words, int player) {
  std::uint32_t found = kUntried;
  for (std::uint32_t i = 0; i < node.outcomes[player]; ++i) {
    if (!seen[i].visits || !too_few(s, seen[i].visits, static_cast<double>(decode_prior(words[i])), node.visits - 1.0)) continue;
    if (found == kUntried || words[i] > words[found]) found = i;
  }
  return found;
}

// The pair of tried outcomes that is owed a visit: the one with the highest product of priors, then with the larger
// words. A pair that was never tried is owed its first visit once the minimum exceeds 1. kUntried: none.
std::uint32_t owed_pair(const Graph& graph, const Settings& s, const Node& node, const Tallies& seen) {
  const std::uint32_t* words[2] = {graph.words(node, 0), graph.words(node, 1)};
  const double total = node.visits - 1.0;
  std::vector<std::uint32_t> visits(std::size_t{node.outcomes[0]} * node.outcomes[1]);
  const Edges edges = node.opened ? graph.edges(node) : Edges{};
  for (std::uint32_t e = 0; e < node.opened; ++e)
    visits[std::size_t{edges.pair[e] >> 16} * node.outcomes[1] + (edges.pair[e] & 0xffffu)] = edges.visits[e];
  std::uint32_t found = kUntried;
  std::tuple<double, std::uint32_t, std::uint32_t> best;
  for (std::uint32_t i = 0; i < node.outcomes[0]; ++i) {
    if (!seen.of(0)[i].visits) continue;
    for (std::uint32_t j = 0; j < node.outcomes[1]; ++j) {
      if (!seen.of(1)[j].visits) continue;
      const double prior = static_cast<double>(decode_prior(words[0][i])) * static_cast<double>(decode_prior(words[1][j]));
      if (!too_few(s, std::max(1u, visits[std::size_t{i} * node.outcomes[1] + j]), prior, total)) continue;
      const std::tuple rank(prior, words[0][i], words[1][j]);
      if (found == kUntried || rank > best) found = make_pair_word(i, j), best = rank;
    }
  }
  return found;
}

}  // namespace

OutcomeCounts count_outcomes(const Graph& graph, const Settings& s, const Node& node, int player) {
  const Tallies tallies(graph, s, node);
  OutcomeCounts counts;
  for (std::uint32_t i = 0; i < node.outcomes[player]; ++i) {
    const Tally& tally = tallies.of(player)[i];
    counts.visits.push_back(tally.visits);
    counts.known.push_back(tally.weight > 0.0);
    counts.values.push_back(tally.weight > 0.0 ? tally.sum / tally.weight : 0.0);
  }
  return counts;
}

Pick force(const Graph& graph, const Settings& s, const Node& node, Pick pick) {
  const Tallies seen(graph, s, node);
  if (!node.joint()) {
    const int player = node.chooser();
    const std::uint32_t place = owed(s, node, seen.of(player), graph.words(node, player), player);
    if (place != kUntried) pick.edge = place;  // it was tried, so its place is its edge
    return pick;
  }
  if (s.forced_by == ForcedBy::kPair) {
    const std::uint32_t pair = owed_pair(graph, s, node, seen);
    if (pair != kUntried) pick.pair = pair;
  } else {
    std::uint32_t chosen[2] = {pick.pair >> 16, pick.pair & 0xffffu};
    for (int p = 0; p < 2; ++p) {
      const std::uint32_t place = owed(s, node, seen.of(p), graph.words(node, p), p);
      if (place != kUntried) chosen[p] = place;
    }
    pick.pair = make_pair_word(chosen[0], chosen[1]);
  }
  pick.edge = find_pair(graph, node, pick.pair);
  return pick;
}

OutcomeView view_outcomes(const Graph& graph, const Settings& s, const Node& node, int player, const Ranges& ranges) {
  const Tallies tallies(graph, s, node);
  const Tally* seen = tallies.of(player);
  const std::uint32_t n = node.outcomes[player];
  const bool active = acts(node.acting, player);
  const std::uint32_t* words = active ? graph.words(node, player) : nullptr;
  const double visited = active ? visited_prior(seen, words, n) : 0.0;
  const float fpu = active ? first_play(s, node, player, visited, Range{}) : load(node.value[player]);
  const float scaled_fpu = first_play(s, node, player, visited, ranges[player]);
  const float u = exploration(s, node);
  OutcomeView view;
  for (std::uint32_t i = 0; i < n; ++i) {
    view.values.push_back(tally_value(seen[i], fpu, Range{}));
    if (active)
      view.scores.push_back(score_of(tally_value(seen[i], scaled_fpu, ranges[player]), u, decode_prior(words[i]),
                                     seen[i].visits));
  }
  return view;
}

std::uint32_t select_known(const Graph& graph, const Settings& s, const Node& node, const Ranges& ranges) {
  if (!node.opened) return kUntried;
  OutcomeView views[2];
  for (int p = 0; p < 2; ++p)
    if (acts(node.acting, p)) views[p] = view_outcomes(graph, s, node, p, ranges);
  const Edges edges = graph.edges(node);
  std::uint32_t best = kUntried;
  float top = 0.0f;
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    if (!leads_on(graph, edges, e)) continue;
    const auto [first, second] = outcome_pair(node, edges, e);
    float score = 0.0f;
    if (!views[0].scores.empty()) score += views[0].scores[first];
    if (!views[1].scores.empty()) score += views[1].scores[second];
    if (best == kUntried || score > top) best = e, top = score;
  }
  return best;
}

namespace {

// Without a discount: most children are as they were, and then there is nothing to write or to sum. The sum of two floats is
// the same rounded once as by way of a double.
template <bool kRewarded>
void refresh_undiscounted(const Graph& graph, const Node& node, const Edges& edges) {
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    const std::uint32_t link = edges.child[e];
    const NodeId id = link & ~(kPending | kExchanged);
    if (link & kPending) {  // or the child has had a value before, and has one now
      if (!id || load(graph.node(id).status) < Status::kReady) continue;
    }
    const Node& child = graph.node(id);
    const std::uint32_t first = link & kExchanged;
    const float values[2] = {(kRewarded ? edges.reward[0][e] : 0.0f) + load(child.value[first]),
                             (kRewarded ? edges.reward[1][e] : 0.0f) + load(child.value[first ^ 1])};
    const bool same = (values[0] == edges.q[0][e]) & (values[1] == edges.q[1][e]) & !(link & kPending);
    if (same) continue;
    graph.note_change(node, edges, e);
    edges.child[e] = link & ~kPending;
    for (int p = 0; p < 2; ++p) edges.q[p][e] = values[p];
  }
}

}  // namespace

void refresh_edges(const Graph& graph, const Settings& s, const Node& node) {
  if (!node.opened) return;
  const Edges edges = graph.edges(node);
  if (s.discount == 1.0)
    return node.rewarded ? refresh_undiscounted<true>(graph, node, edges) : refresh_undiscounted<false>(graph, node, edges);
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    const NodeId id = child_of(edges, e);
    if (!id) continue;
    const Node& child = graph.node(id);
    if (load(child.status) < Status::kReady) continue;
    graph.note_change(node, edges, e);
    edges.child[e] &= ~kPending;
    take_value(edges, e, child, s.discount);
  }
}

Pick select(const Graph& graph, const Settings& settings, const Node& node, const Ranges& ranges) {
  if (node.tallied) return select_tallied(graph, settings, node, ranges);
  return node.joint() ? select_joint(graph, settings, node, ranges)
                      : select_single(graph, settings, node, ranges);
}

}  // namespace ramify
