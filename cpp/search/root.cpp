#include "search/root.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ramify {
namespace {

double normal(Rng& rng) {
  constexpr double kTwoPi = 6.283185307179586;
  return std::sqrt(-2.0 * std::log(1.0 - rng.uniform())) * std::cos(kTwoPi * rng.uniform());
}

// Marsaglia and Tsang's method; shapes below 1 are boosted from shape + 1. Returned as a logarithm, because small
// shapes give values far below what a double can hold.
double log_gamma_sample(Rng& rng, double shape) {
  if (shape < 1.0) return log_gamma_sample(rng, shape + 1.0) + std::log(1.0 - rng.uniform()) / shape;
  const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = normal(rng), v = std::pow(1.0 + c * x, 3.0);
    if (v > 0.0 && std::log(1.0 - rng.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d) + std::log(v);
  }
}

// Positions of a player's words in ascending order of the actual action.
std::vector<std::uint32_t> ascending(const std::vector<Action>& actions) {
  std::vector<std::uint32_t> order(actions.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return actions[a] < actions[b]; });
  return order;
}

std::vector<Action> word_actions(const std::uint32_t* words, std::uint32_t n, const std::int32_t* to_actual) {
  std::vector<Action> actions(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    const Action stored = word_action(words[i]);
    actions[i] = to_actual ? to_actual[stored] : stored;
  }
  return actions;
}

}  // namespace

void RootPriors::set(int player, std::vector<Action> sorted, std::vector<float> values) {
  actions[player] = std::move(sorted);
  priors[player] = std::move(values);
}

float RootPriors::of(int player, Action action) const {
  const auto& list = actions[player];
  const auto at = std::lower_bound(list.begin(), list.end(), action) - list.begin();
  return priors[player][static_cast<std::size_t>(at)];
}

RootPriors read_priors(const Graph& graph, const Node& node) {
  RootPriors clean;
  for (int player = 0; player < 2; ++player) {
    if (!acts(node.acting, player)) continue;
    const std::uint32_t* words = graph.words(node, player);
    const std::vector<Action> actions = word_actions(words, node.outcomes[player], nullptr);
    for (std::uint32_t i : ascending(actions)) {
      clean.actions[player].push_back(actions[i]);
      clean.priors[player].push_back(decode_prior(words[i]));
    }
  }
  return clean;
}

std::vector<double> dirichlet(Rng& rng, std::size_t n, double alpha) {
  std::vector<double> sample(n);
  for (double& x : sample) x = log_gamma_sample(rng, alpha);
  const double top = *std::max_element(sample.begin(), sample.end());
  double sum = 0.0;
  for (double& x : sample) sum += x = std::exp(x - top);
  for (double& x : sample) x /= sum;
  return sample;
}

void write_priors(const Graph& graph, const Settings& s, Node& root, const RootPriors& clean, Rng& rng) {
  for (int player = 0; player < 2; ++player) {
    if (!acts(root.acting, player)) continue;
    std::vector<float> mixed = clean.priors[player];
    if (s.noise_fraction > 0.0 && mixed.size() > 1) {
      const std::vector<double> noise = dirichlet(rng, mixed.size(), s.noise_alpha);
      for (std::size_t i = 0; i < mixed.size(); ++i)
        mixed[i] = static_cast<float>((1.0 - s.noise_fraction) * mixed[i] + s.noise_fraction * noise[i]);
    }
    RootPriors noised;
    noised.set(player, clean.actions[player], std::move(mixed));
    std::uint32_t* words = graph.words(root, player);
    for (std::uint32_t i = 0; i < root.outcomes[player]; ++i)
      words[i] = with_prior(words[i], noised.of(player, word_action(words[i])));
  }
  graph.settle_next(root);
}

Report make_report(const Graph& graph, const Settings& s, const Node& node,
                   const std::int32_t* to_actual) {
  Report report;
  report.acting = node.acting;
  report.ready = node.status == Status::kReady;
  report.visits = node.visits;
  for (int p = 0; p < 2; ++p) {
    report.value[p] = node.value[p];
    report.evaluation[p] = node.evaluation[p];
  }
  if (!report.ready) return report;
  std::vector<std::uint32_t> rank[2];  // place of a word -> outcome
  for (int p = 0; p < 2; ++p) {
    rank[p].assign(node.outcomes[p], 0);
    if (!acts(node.acting, p)) {
      report.actions[p] = {kNone};
      report.priors[p] = {1.0f};
      continue;
    }
    const std::uint32_t* words = graph.words(node, p);
    const std::vector<Action> actions = word_actions(words, node.outcomes[p], to_actual);
    for (std::uint32_t i : ascending(actions)) {
      rank[p][i] = static_cast<std::uint32_t>(report.actions[p].size());
      report.actions[p].push_back(actions[i]);
      report.priors[p].push_back(decode_prior(words[i]));
    }
  }
  const std::size_t n1 = node.outcomes[1], size = node.outcomes[0] * n1;
  report.edge_visits.assign(size, 0);
  for (auto& payoffs : report.payoffs) payoffs.assign(size, std::numeric_limits<float>::quiet_NaN());
  std::vector<double> weight[2], sum[2];
  for (int p = 0; p < 2; ++p) {
    weight[p].assign(node.outcomes[p], 0.0);
    sum[p].assign(node.outcomes[p], 0.0);
  }
  if (node.opened) {
    const Edges edges = graph.edges(node);
    const int chooser = node.chooser();
    for (std::uint32_t e = 0; e < node.opened; ++e) {
      if (!edges.visits[e]) continue;
      const std::uint32_t pair = edges.pair ? edges.pair[e] : 0;
      const std::uint32_t i = rank[0][edges.pair ? pair / node.outcomes[1] : chooser == 0 ? e : 0];
      const std::uint32_t j = rank[1][edges.pair ? pair % node.outcomes[1] : chooser == 1 ? e : 0];
      report.edge_visits[i * n1 + j] = edges.visits[e];
      if (edges.child[e] & kPending) continue;
      for (int p = 0; p < 2; ++p) {
        report.payoffs[p][i * n1 + j] = edges.q[p][e];
        weight[p][p ? j : i] += edges.visits[e];
        sum[p][p ? j : i] += edges.visits[e] * static_cast<double>(edges.q[p][e]);
      }
    }
  }
  for (int p = 0; p < 2; ++p) {
    double visited = 0.0;
    for (std::size_t i = 0; i < weight[p].size(); ++i)
      if (weight[p][i] > 0.0) visited += report.priors[p][i];
    // Without a scale: what the search would assume, in the units of values.
    const float fpu = first_play(s, node, p, visited, Range{});
    for (std::size_t i = 0; i < weight[p].size(); ++i)
      report.q[p].push_back(weight[p][i] > 0.0 ? static_cast<float>(sum[p][i] / weight[p][i]) : fpu);
  }
  if (node.joint() && s.opponent_weights != OpponentWeights::kConditional)
    for (int p = 0; p < 2; ++p) {
      Marginals seen;
      marginals(graph, s, node, p, seen);
      for (std::size_t i = 0; i < seen.value.size(); ++i)
        if (!std::isnan(seen.value[i])) report.q[p][rank[p][i]] = seen.value[i];
    }
  return report;
}

}  // namespace ramify
