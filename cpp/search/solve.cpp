#include "search/solve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "search/zero_sum.hpp"

namespace ramify {
namespace {

using Bounds = std::array<std::array<double, 2>, 2>;  // [player][low, high]

// Bounds this close have met: what is left between them is rounding.
bool meet(double low, double high) { return std::isfinite(low) && high - low <= 1e-6 * (1.0 + std::fabs(low)); }

// Where one player chooses, it gets the best edge. Of the other player's value is known, in a game that is not
// zero-sum, only what holds for every edge that may turn out to be the best.
Bounds choose_best(const Graph& graph, const Settings& s, const Node& node, const Proof& proof, bool zero_sum) {
  const int player = node.chooser(), other = 1 - player;
  const auto me = static_cast<std::size_t>(player), them = static_cast<std::size_t>(other);
  Bounds bounds;
  for (int p = 0; p < 2; ++p) bounds[static_cast<std::size_t>(p)] = {proof.low[p], proof.high[p]};
  const Edges edges = graph.edges(node);
  const bool all_tried = node.opened == node.outcomes[player];
  double low = bounds[me][0], high = all_tried ? -HUGE_VAL : bounds[me][1];
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    const EdgeProof edge = edge_proof(graph, s, node, edges, e);
    low = std::max(low, static_cast<double>(edge.low[player]));
    high = std::max(high, static_cast<double>(edge.high[player]));
  }
  bounds[me] = {low, std::min(high, bounds[me][1])};
  if (zero_sum) {
    bounds[them] = {-bounds[me][1], -bounds[me][0]};
    return bounds;
  }
  if (!all_tried) return bounds;
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    const EdgeProof edge = edge_proof(graph, s, node, edges, e);
    if (static_cast<double>(edge.high[player]) < low) continue;
    least = std::min(least, static_cast<double>(edge.low[other]));
    most = std::max(most, static_cast<double>(edge.high[other]));
  }
  bounds[them] = {std::max(bounds[them][0], least), std::min(bounds[them][1], most)};
  return bounds;
}

// Where both choose: the values of the matrix games of lower and of upper bounds. In a game that is not zero-sum, what a
// player can make sure of, and the most that any pair of outcomes may bring.
Bounds play_matrix(const Graph& graph, const Settings& s, const Node& node, const Proof& proof, bool zero_sum) {
  const std::size_t n0 = node.outcomes[0], n1 = node.outcomes[1], size = n0 * n1;
  const int rows = static_cast<int>(n0), columns = static_cast<int>(n1);
  std::vector<double> low[2], high[2];
  for (int p = 0; p < 2; ++p) {
    low[p].assign(size, static_cast<double>(proof.least[p]));
    high[p].assign(size, static_cast<double>(proof.most[p]));
  }
  const Edges edges = graph.edges(node);
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    const EdgeProof edge = edge_proof(graph, s, node, edges, e);
    const auto [first, second] = outcome_pair(node, edges, e);
    for (int p = 0; p < 2; ++p) {
      // Player 1's table is turned, so that each player has its own outcomes down.
      const std::size_t at = p == 0 ? first * n1 + second : second * n0 + first;
      low[p][at] = static_cast<double>(edge.low[p]);
      high[p][at] = static_cast<double>(edge.high[p]);
    }
  }
  const auto finite = [](const std::vector<double>& table) {
    return std::all_of(table.begin(), table.end(), [](double x) { return std::isfinite(x); });
  };
  Bounds bounds;
  for (int p = 0; p < 2; ++p) bounds[static_cast<std::size_t>(p)] = {proof.low[p], proof.high[p]};
  const auto tighten = [&](std::size_t p, double least, double most) {
    bounds[p] = {std::max(bounds[p][0], least), std::min(bounds[p][1], most)};
  };
  if (zero_sum) {
    if (finite(low[0])) tighten(0, zero_sum_value(low[0].data(), rows, columns), HUGE_VAL);
    if (finite(high[0])) tighten(0, -HUGE_VAL, zero_sum_value(high[0].data(), rows, columns));
    bounds[1] = {-bounds[0][1], -bounds[0][0]};
    return bounds;
  }
  for (int p = 0; p < 2; ++p) {
    if (finite(low[p]))
      tighten(static_cast<std::size_t>(p), zero_sum_value(low[p].data(), p == 0 ? rows : columns, p == 0 ? columns : rows),
              HUGE_VAL);
    tighten(static_cast<std::size_t>(p), -HUGE_VAL, *std::max_element(high[p].begin(), high[p].end()));
  }
  return bounds;
}

// Where chance decides: the means of the outcomes' bounds. What was not tried may bring anything that is at stake.
Bounds mean_of_outcomes(const Graph& graph, const Settings& s, const Node& node, const Proof& proof) {
  const ChanceWords chance = graph.chance(node);
  const Edges edges = graph.edges(node);
  Bounds sums{};
  double total = 0.0;
  for (std::uint32_t i = 0; i < chance.count; ++i) {
    const auto probability = static_cast<double>(chance.probability[i]);
    const std::uint32_t e = chance.edge[i];
    EdgeProof edge;
    if (e != ChanceWords::kNoEdge) edge = edge_proof(graph, s, node, edges, e);
    else
      for (int p = 0; p < 2; ++p) edge.low[p] = proof.least[p], edge.high[p] = proof.most[p];
    total += probability;
    for (int p = 0; p < 2; ++p) {
      sums[static_cast<std::size_t>(p)][0] += probability * static_cast<double>(edge.low[p]);
      sums[static_cast<std::size_t>(p)][1] += probability * static_cast<double>(edge.high[p]);
    }
  }
  for (int p = 0; p < 2; ++p) {
    auto& [low, high] = sums[static_cast<std::size_t>(p)];
    low = std::max(low / total, static_cast<double>(proof.low[p]));
    high = std::min(high / total, static_cast<double>(proof.high[p]));
    if (low > high) low = high = 0.5 * (low + high);  // rounding of bounds that have met
  }
  return sums;
}

// How long a proven game lasts: the winner hurries, the loser does not.
std::uint32_t count_plies(const Graph& graph, const Settings& s, const Node& node, const Proof& proof) {
  const Edges edges = graph.edges(node);
  if (node.acting == kChance) {  // no ply of its own
    std::uint32_t most = 1;
    for (std::uint32_t e = 0; e < node.opened; ++e) most = std::max(most, edge_proof(graph, s, node, edges, e).plies);
    return most - 1;
  }
  const int player = node.chooser();
  const float middle = 0.5f * (proof.least[player] + proof.most[player]);
  const bool hurries = !node.joint() && proof.low[player] > (std::isfinite(middle) ? middle : 0.0f);
  std::uint32_t plies = hurries ? ~0u : 0;
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    const EdgeProof edge = edge_proof(graph, s, node, edges, e);
    if (!edge.proven || (!node.joint() && edge.low[player] < proof.low[player])) continue;
    plies = hurries ? std::min(plies, edge.plies) : std::max(plies, edge.plies);
  }
  return plies == ~0u ? 0 : plies;
}

// An edge that cannot be right: something else is better for sure, or nothing is worse.
bool is_refuted(const Proof& proof, const EdgeProof& edge, int player) {
  return edge.high[player] < load(proof.low[player]) || edge.high[player] <= proof.least[player];
}

Pick choose_live(const Graph& graph, const Settings& s, const Node& node, const Ranges& ranges, const Pick& pick,
                 bool proven_too) {
  const int player = node.chooser();
  const Proof& proof = graph.proof(node);
  const OutcomeView view = view_outcomes(graph, s, node, player, ranges);
  const std::uint32_t* words = graph.words(node, player);
  const Edges edges = graph.edges(node);
  Pick best = pick;
  std::pair<float, std::uint32_t> top{-HUGE_VALF, 0};
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(node.opened + 1, node.outcomes[player]); ++i) {
    if (i < node.opened) {
      const EdgeProof edge = edge_proof(graph, s, node, edges, i);
      if ((edge.proven && !proven_too) || is_refuted(proof, edge, player)) continue;
    }
    const std::pair score{view.scores[i], words[i]};
    if (score <= top) continue;
    top = score;
    best.edge = i < node.opened ? i : kUntried;
    best.pair = node.opened;
  }
  return best;
}

// The pair with the best sum of scores among those that are not proven, of outcomes that are not refuted.
Pick choose_open_pair(const Graph& graph, const Settings& s, const Node& node, const Ranges& ranges, const Pick& pick) {
  const Proof& proof = graph.proof(node);
  const std::size_t n0 = node.outcomes[0], n1 = node.outcomes[1];
  std::vector<std::uint32_t> edge_of(n0 * n1, kUntried);
  std::vector<char> proven(n0 * n1, 0);
  std::vector<float> best[2];  // the most that each outcome may bring its player
  for (int p = 0; p < 2; ++p) best[p].assign(node.outcomes[p], -HUGE_VALF);
  std::vector<std::uint32_t> tried[2];
  for (int p = 0; p < 2; ++p) tried[p].assign(node.outcomes[p], 0);
  const Edges edges = graph.edges(node);
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    const EdgeProof edge = edge_proof(graph, s, node, edges, e);
    const auto [first, second] = outcome_pair(node, edges, e);
    edge_of[first * n1 + second] = e;
    proven[first * n1 + second] = edge.proven;
    const std::uint32_t places[2] = {first, second};
    for (int p = 0; p < 2; ++p) {
      best[p][places[p]] = std::max(best[p][places[p]], edge.high[p]);
      ++tried[p][places[p]];
    }
  }
  const auto refuted = [&](int p, std::size_t i) {
    const float high = tried[p][i] == node.outcomes[1 - p] ? best[p][i] : proof.most[p];
    return high < proof.low[p] || high <= proof.least[p];
  };
  const OutcomeView views[2] = {view_outcomes(graph, s, node, 0, ranges), view_outcomes(graph, s, node, 1, ranges)};
  Pick chosen = pick;
  bool found = false, sound = false;
  float top = 0.0f;
  for (std::size_t i = 0; i < n0; ++i)
    for (std::size_t j = 0; j < n1; ++j) {
      if (proven[i * n1 + j]) continue;
      const bool good = !refuted(0, i) && !refuted(1, j);
      const float score = views[0].scores[i] + views[1].scores[j];
      if (found && (sound > good || (sound == good && score <= top))) continue;
      found = true, sound = good, top = score;
      chosen.edge = edge_of[i * n1 + j];
      chosen.pair = make_pair_word(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j));
    }
  return chosen;
}

}  // namespace

void begin_proof(Proof& proof, const Stakes& stakes, double discount, bool at_root) {
  const bool plain = discount == 1.0;
  for (std::size_t p = 0; p < 2; ++p) {
    // What comes later may weigh less, down to nothing; and a sum says nothing of its discounted parts.
    proof.least[p] = plain ? stakes.least[p] : stakes.throughout ? std::min(stakes.least[p], 0.0f) : -HUGE_VALF;
    proof.most[p] = plain ? stakes.most[p] : stakes.throughout ? std::max(stakes.most[p], 0.0f) : HUGE_VALF;
    proof.low[p] = proof.least[p];
    proof.high[p] = proof.most[p];
  }
  if (at_root || !plain) return;
  for (std::size_t p = 0; p < 2; ++p) {
    proof.low[p] = std::max(proof.low[p], stakes.secured[p]);
    if (stakes.zero_sum) proof.high[p] = std::min(proof.high[p], -stakes.secured[1 - p]);
  }
}

EdgeProof edge_proof(const Graph& graph, const Settings& s, const Node& node, const Edges& edges, std::uint32_t edge) {
  EdgeProof bounds;
  const NodeId id = child_of(edges, edge);
  if (!id) {
    const Proof& proof = graph.proof(node);
    for (int p = 0; p < 2; ++p) bounds.low[p] = proof.least[p], bounds.high[p] = proof.most[p];
    return bounds;
  }
  const Proof& child = graph.proof(graph.node(id));
  const double discount = discount_into(graph.node(id), s.discount);
  for (int p = 0; p < 2; ++p) {
    const double reward = edges.reward[p] ? static_cast<double>(edges.reward[p][edge]) : 0.0;
    const int below = player_below(edges, edge, p);
    bounds.low[p] = static_cast<float>(reward + discount * static_cast<double>(load(child.low[below])));
    bounds.high[p] = static_cast<float>(reward + discount * static_cast<double>(load(child.high[below])));
  }
  bounds.proven = is_proven(child) && load(graph.node(id).status) >= Status::kReady;
  bounds.plies = 1 + __atomic_load_n(&child.plies, __ATOMIC_RELAXED);
  return bounds;
}

bool update_proof(const Graph& graph, const Settings& s, const Node& node, bool zero_sum) {
  Proof& proof = graph.proof(node);
  if (!node.opened || is_proven(proof)) return false;
  const Bounds bounds = node.acting == kChance ? mean_of_outcomes(graph, s, node, proof)
                        : node.joint()         ? play_matrix(graph, s, node, proof, zero_sum)
                                               : choose_best(graph, s, node, proof, zero_sum);
  bool changed = false;
  for (int p = 0; p < 2; ++p) {
    auto [low, high] = bounds[static_cast<std::size_t>(p)];
    if (meet(low, high)) high = low = std::fabs(low) < 1e-6 ? 0.0 : low;
    const auto new_low = static_cast<float>(low), new_high = static_cast<float>(high);
    changed = changed || new_low != proof.low[p] || new_high != proof.high[p];
    store(proof.low[p], new_low);
    store(proof.high[p], new_high);
  }
  if (changed && is_proven(proof))
    __atomic_store_n(&proof.plies, count_plies(graph, s, node, proof), __ATOMIC_RELAXED);
  return changed;
}

Pick avoid_refuted(const Graph& graph, const Settings& s, const Node& node, const Ranges& ranges, Pick pick,
                   bool at_root) {
  if (pick.edge == kUntried) return pick;
  const EdgeProof edge = edge_proof(graph, s, node, graph.edges(node), pick.edge);
  if (node.joint()) return edge.proven ? choose_open_pair(graph, s, node, ranges, pick) : pick;
  if (is_refuted(graph.proof(node), edge, node.chooser()) || (edge.proven && !at_root))
    return choose_live(graph, s, node, ranges, pick, at_root);
  return pick;
}

}  // namespace ramify
