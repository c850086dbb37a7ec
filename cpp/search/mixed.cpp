#include "search/mixed.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace ramify {
namespace {

constexpr std::size_t kSmall = 64;

// Numbers per outcome of both players, on the stack unless there are many.
class Numbers {
 public:
  explicit Numbers(const Node& node) {
    const std::size_t n = std::size_t{node.outcomes[0]} + node.outcomes[1];
    if (n > kSmall) large_.resize(n);
    of_[0] = n > kSmall ? large_.data() : small_;
    of_[1] = of_[0] + node.outcomes[0];
    std::fill_n(of_[0], n, 0.0);
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  double* operator[](int player) { return of_[player]; }
  const double* operator[](int player) const { return of_[player]; }

 private:
  double small_[kSmall];
  std::vector<double> large_;
  double* of_[2];
};

// What a player has learnt (regrets, or logarithms of weights), and the sum of its strategies.
struct Rows {
  float* learnt;
  float* sums;
};
Rows rows_of(const Graph& graph, const Node& node, int player) {
  float* block = graph.strategies(node) + (player == 0 ? 0 : 2u * node.outcomes[0]);
  return {block, block + node.outcomes[player]};
}

void normalise(double* x, std::uint32_t n) {
  double sum = 0.0;
  for (std::uint32_t i = 0; i < n; ++i) sum += x[i];
  for (std::uint32_t i = 0; i < n; ++i) x[i] = sum > 0.0 ? x[i] / sum : 1.0 / n;
}

void priors_of(const Graph& graph, const Node& node, int player, double* x) {
  const std::uint32_t* words = graph.words(node, player);
  for (std::uint32_t i = 0; i < node.outcomes[player]; ++i) x[i] = static_cast<double>(decode_prior(words[i]));
  normalise(x, node.outcomes[player]);
}

// In proportion to positive regrets; the priors until there are any.
void regret_strategy(const Graph& graph, const Node& node, int player, double* x) {
  const float* regrets = rows_of(graph, node, player).learnt;
  const std::uint32_t n = node.outcomes[player];
  double sum = 0.0;
  for (std::uint32_t i = 0; i < n; ++i) sum += x[i] = static_cast<double>(regrets[i]);
  if (sum > 0.0) return normalise(x, n);
  priors_of(graph, node, player, x);
}

// In proportion to prior * exp(weight).
void exp3_strategy(const Graph& graph, const Node& node, int player, double* x) {
  const float* weights = rows_of(graph, node, player).learnt;
  const std::uint32_t n = node.outcomes[player];
  const double top = static_cast<double>(*std::max_element(weights, weights + n));
  priors_of(graph, node, player, x);
  for (std::uint32_t i = 0; i < n; ++i) x[i] *= std::exp(static_cast<double>(weights[i]) - top);
  normalise(x, n);
}

// The average of all strategies so far; the priors before the first.
void mean_strategy(const Graph& graph, const Node& node, int player, double* x) {
  if (!graph.mixing(node).rounds) return priors_of(graph, node, player, x);
  std::copy_n(rows_of(graph, node, player).sums, node.outcomes[player], x);
  normalise(x, node.outcomes[player]);
}

// What a strategy brings where its outcomes have these values.
double expected(const double* strategy, const double* values, std::uint32_t n) {
  return std::inner_product(strategy, strategy + n, values, 0.0);
}

void explore(double* x, std::uint32_t n, double share) {
  for (std::uint32_t i = 0; i < n; ++i) x[i] = (1.0 - share) * x[i] + share / n;
}

// What a player draws from. The floor under regret matching falls with the fourth root of the visits: a constant one
// would end in an equilibrium of another game.
void drawn_strategy(const Graph& graph, const Settings& s, const Node& node, int player, double* x) {
  if (s.selection == Selection::kRegret) {
    regret_strategy(graph, node, player, x);
    explore(x, node.outcomes[player], std::pow(1.0 + node.visits, -0.25));
  } else {
    exp3_strategy(graph, node, player, x);
    explore(x, node.outcomes[player], s.exp3_exploration);
  }
}

std::uint32_t draw(const double* x, std::uint32_t n, Rng& rng) {
  double left = rng.uniform();
  for (std::uint32_t i = 0; i + 1 < n; ++i)
    if ((left -= x[i]) < 0.0) return i;
  return n - 1;
}

// Value of each of a player's outcomes against the other's strategy. Untried pairs count as the node's evaluation.
void outcome_values(const Node& node, const Edges& edges, int player, const double* against, double* values) {
  const auto base = static_cast<double>(node.evaluation[player]);
  std::fill_n(values, node.outcomes[player], base);
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    if (edges.child[e] & kPending) continue;
    const std::uint32_t first = edges.pair[e] >> 16, second = edges.pair[e] & 0xffffu;
    const std::uint32_t own = player == 0 ? first : second, other = player == 0 ? second : first;
    values[own] += against[other] * (static_cast<double>(edges.q[player][e]) - base);
  }
}

// Regret matching+: one round against the strategy that the other player has now, the players one after the other.
void learn_regrets(const Graph& graph, Node& node, const Edges& edges) {
  Numbers strategies(node), values(node);
  const double weight = ++graph.mixing(node).rounds;
  for (int p = 0; p < 2; ++p) regret_strategy(graph, node, p, strategies[p]);
  for (int p = 0; p < 2; ++p) {
    const Rows rows = rows_of(graph, node, p);
    const std::uint32_t n = node.outcomes[p];
    double* x = strategies[p];
    outcome_values(node, edges, p, strategies[1 - p], values[p]);
    const double mean = expected(x, values[p], n);
    for (std::uint32_t i = 0; i < n; ++i) {
      rows.learnt[i] = static_cast<float>(std::max(0.0, static_cast<double>(rows.learnt[i]) + values[p][i] - mean));
      // A running mean with linear weights: sums of weights would outgrow a float.
      rows.sums[i] += static_cast<float>(2.0 / (weight + 1.0) * (x[i] - static_cast<double>(rows.sums[i])));
    }
    regret_strategy(graph, node, p, x);
  }
}

// The spread of a player's values at this node, as far as it is known.
std::pair<double, double> spread(const Node& node, const Edges& edges, int player) {
  double low = static_cast<double>(node.evaluation[player]), high = low;
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    if (edges.child[e] & kPending) continue;
    low = std::min(low, static_cast<double>(edges.q[player][e]));
    high = std::max(high, static_cast<double>(edges.q[player][e]));
  }
  return {low, high};
}

void learn_weights(const Graph& graph, const Settings& s, Node& node, const Edges& edges, std::uint32_t edge) {
  Numbers strategies(node);
  const double weight = ++graph.mixing(node).rounds;
  const std::uint32_t chosen[2] = {edges.pair[edge] >> 16, edges.pair[edge] & 0xffffu};
  for (int p = 0; p < 2; ++p) {
    const Rows rows = rows_of(graph, node, p);
    const std::uint32_t n = node.outcomes[p];
    double* x = strategies[p];
    exp3_strategy(graph, node, p, x);
    for (std::uint32_t i = 0; i < n; ++i)
      rows.sums[i] += static_cast<float>(1.0 / weight * (x[i] - static_cast<double>(rows.sums[i])));
    explore(x, n, s.exp3_exploration);
    const auto [low, high] = spread(node, edges, p);
    const double gain = high > low ? (static_cast<double>(edges.q[p][edge]) - low) / (high - low) : 0.0;
    rows.learnt[chosen[p]] += static_cast<float>(s.exp3_exploration * gain / (x[chosen[p]] * n));
  }
}

}  // namespace

Pick sample_pair(const Graph& graph, const Settings& s, const Node& node, Rng& rng) {
  Numbers strategies(node);
  std::uint32_t chosen[2];
  for (int p = 0; p < 2; ++p) {
    drawn_strategy(graph, s, node, p, strategies[p]);
    chosen[p] = draw(strategies[p], node.outcomes[p], rng);
  }
  Pick pick{kUntried, make_pair_word(chosen[0], chosen[1]), {node.evaluation[0], node.evaluation[1]}};
  pick.edge = find_pair(graph, node, pick.pair);
  return pick;
}

void learn(const Graph& graph, const Settings& s, Node& node, const Edges& edges, std::uint32_t edge) {
  if (s.selection == Selection::kRegret) learn_regrets(graph, node, edges);
  else learn_weights(graph, s, node, edges, edge);
}

std::vector<float> average_strategy(const Graph& graph, const Node& node, int player) {
  std::vector<double> mean(node.outcomes[player]);
  mean_strategy(graph, node, player, mean.data());
  return {mean.begin(), mean.end()};
}

void update_mixed_value(const Graph& graph, Node& node, const Edges& edges) {
  Numbers average(node), values(node);
  for (int p = 0; p < 2; ++p) mean_strategy(graph, node, p, average[p]);
  for (int p = 0; p < 2; ++p) {
    outcome_values(node, edges, p, average[1 - p], values[p]);
    store(node.value[p], static_cast<float>(expected(average[p], values[p], node.outcomes[p])));
  }
}

}  // namespace ramify
