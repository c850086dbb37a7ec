#include "search/root.hpp"

#include "search/mixed.hpp"
#include "search/solve.hpp"

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

std::vector<double> dirichlet(Rng& rng, const std::vector<double>& alphas) {
  std::vector<double> sample(alphas);
  for (double& x : sample) x = log_gamma_sample(rng, x);
  const double top = *std::max_element(sample.begin(), sample.end());
  double sum = 0.0;
  for (double& x : sample) sum += x = std::exp(x - top);
  for (double& x : sample) x /= sum;
  return sample;
}

namespace {

// Every outcome the same parameter; or KataGo's shape, in which noise_alpha is the sum of all: half of it shared evenly,
// half by how far the logarithm of a prior (not counted above 1 %) lies over the mean.
std::vector<double> noise_alphas(const Settings& s, const std::vector<float>& priors) {
  const std::size_t n = priors.size();
  if (s.noise == Noise::kDirichlet) return std::vector<double>(n, s.noise_alpha);
  std::vector<double> share(n);
  double mean = 0.0, sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    share[i] = std::log(std::min(static_cast<double>(priors[i]), 0.01) + 1e-20);
    mean += share[i] / static_cast<double>(n);
  }
  for (double& x : share) sum += x = std::max(0.0, x - mean);
  for (double& x : share) {
    const double even = 1.0 / static_cast<double>(n);
    x = s.noise_alpha * (sum > 0.0 ? 0.5 * even + 0.5 * x / sum : even);
  }
  return share;
}

std::vector<float> tempered(std::vector<float> priors, double temperature) {
  if (temperature == 1.0) return priors;
  const float top = *std::max_element(priors.begin(), priors.end());
  double sum = 0.0;
  for (float& p : priors) sum += static_cast<double>(p = static_cast<float>(std::pow(static_cast<double>(p / top), 1.0 / temperature)));
  for (float& p : priors) p = static_cast<float>(static_cast<double>(p) / sum);
  return priors;
}

}  // namespace

void write_priors(const Graph& graph, const Settings& s, Node& root, const RootPriors& clean, Rng* rng) {
  for (int player = 0; player < 2; ++player) {
    if (!acts(root.acting, player)) continue;
    std::vector<float> mixed = clean.priors[player];
    if (rng) mixed = tempered(std::move(mixed), s.root_temperature);
    if (rng && s.noise_fraction > 0.0 && mixed.size() > 1) {
      const std::vector<double> noise = dirichlet(*rng, noise_alphas(s, mixed));
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

namespace {

using Ranks = std::vector<std::uint32_t>;  // place of a word -> outcome

// The outcomes of both players in ascending order of actions, with what is known of each.
void report_outcomes(const Graph& graph, const Settings& s, const Node& node, const Ranges& ranges,
                     const std::int32_t* to_actual, Report& report, Ranks (&rank)[2]) {
  for (int p = 0; p < 2; ++p) {
    rank[p].assign(node.outcomes[p], 0);
    const OutcomeView view = view_outcomes(graph, s, node, p, ranges);
    if (!acts(node.acting, p)) {
      report.actions[p] = {kNone};
      report.priors[p] = {1.0f};
      report.q[p] = view.values;
      continue;
    }
    const std::uint32_t* words = graph.words(node, p);
    const std::vector<Action> actions = word_actions(words, node.outcomes[p], to_actual);
    for (std::uint32_t i : ascending(actions)) {
      rank[p][i] = static_cast<std::uint32_t>(report.actions[p].size());
      report.actions[p].push_back(actions[i]);
      report.priors[p].push_back(decode_prior(words[i]));
      report.scores[p].push_back(view.scores[i]);
      report.q[p].push_back(view.values[i]);
    }
  }
}

void report_edges(const Graph& graph, const Node& node, const Ranks (&rank)[2], Report& report) {
  const std::size_t n1 = node.outcomes[1], size = node.outcomes[0] * n1;
  report.edge_visits.assign(size, 0);
  for (auto& payoffs : report.payoffs) payoffs.assign(size, std::numeric_limits<float>::quiet_NaN());
  if (!node.opened) return;
  const Edges edges = graph.edges(node);
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    if (!edges.visits[e]) continue;
    const auto [first, second] = outcome_pair(node, edges, e);
    const std::size_t at = rank[0][first] * n1 + rank[1][second];
    report.edge_visits[at] = edges.visits[e];
    for (int p = 0; p < 2; ++p)
      if (!(edges.child[e] & kPending)) report.payoffs[p][at] = edges.q[p][e];
  }
}

void report_proofs(const Graph& graph, const Settings& s, const Node& node, const Ranks (&rank)[2], Report& report) {
  const Proof& proof = graph.proof(node);
  report.has_proof = true;
  report.proven = is_proven(proof);
  const std::size_t n1 = node.outcomes[1], size = node.outcomes[0] * n1;
  for (int p = 0; p < 2; ++p) {
    report.low[p] = proof.low[p], report.high[p] = proof.high[p];
    report.least[p] = proof.least[p], report.most[p] = proof.most[p];
    report.lows[p].assign(size, proof.least[p]);
    report.highs[p].assign(size, proof.most[p]);
  }
  report.plies.assign(size, -1);
  if (!node.opened) return;
  const Edges edges = graph.edges(node);
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    const EdgeProof edge = edge_proof(graph, s, node, edges, e);
    const auto [first, second] = outcome_pair(node, edges, e);
    const std::size_t at = rank[0][first] * n1 + rank[1][second];
    for (int p = 0; p < 2; ++p) report.lows[p][at] = edge.low[p], report.highs[p][at] = edge.high[p];
    if (edge.proven) report.plies[at] = edge.plies;
  }
}

void report_averages(const Graph& graph, const Node& node, const Ranks (&rank)[2], Report& report) {
  for (int p = 0; p < 2; ++p) {
    const std::vector<float> average = average_strategy(graph, node, p);
    report.average[p].resize(average.size());
    for (std::size_t i = 0; i < average.size(); ++i) report.average[p][rank[p][i]] = average[i];
  }
}

}  // namespace

// A chance event: its outcomes in place of actions, and their probabilities in place of priors.
static void report_chance(const Graph& graph, const Node& node, Report& report) {
  const ChanceWords chance = graph.chance(node);
  const Edges edges = graph.edges(node);
  report.actions[1] = {kNone};
  report.priors[1] = {1.0f};
  for (std::uint32_t i = 0; i < chance.count; ++i) {
    const std::uint32_t e = chance.edge[i];
    const bool known = e != ChanceWords::kNoEdge && !(edges.child[e] & kPending);
    report.actions[0].push_back(chance.outcome[i]);
    report.priors[0].push_back(chance.probability[i]);
    report.edge_visits.push_back(e == ChanceWords::kNoEdge ? 0 : edges.visits[e]);
    for (int p = 0; p < 2; ++p) report.payoffs[p].push_back(known ? edges.q[p][e] : std::nanf(""));
  }
  for (int p = 0; p < 2; ++p) report.q[p] = p ? std::vector<float>{node.value[1]} : report.payoffs[0];
}

Report make_report(const Graph& graph, const Settings& s, const Node& node, const Ranges& ranges,
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
  if (node.acting == kChance) {
    report_chance(graph, node, report);
    return report;
  }
  Ranks rank[2];
  report_outcomes(graph, s, node, ranges, to_actual, report, rank);
  report_edges(graph, node, rank, report);
  if (s.solver) report_proofs(graph, s, node, rank, report);
  if (mixes(s) && node.joint()) report_averages(graph, node, rank, report);
  return report;
}

void exchange_players(Report& r) {
  const std::size_t n0 = r.actions[0].size(), n1 = r.actions[1].size();
  const auto transpose = [n0, n1]<class T>(std::vector<T>& table) {
    if (table.empty()) return;
    std::vector<T> turned(table.size());
    for (std::size_t e = 0; e < table.size(); ++e) turned[e % n1 * n0 + e / n1] = table[e];
    table = std::move(turned);
  };
  r.acting = exchanged(r.acting);
  for (auto* numbers : {r.value, r.evaluation, r.low, r.high, r.least, r.most}) std::swap(numbers[0], numbers[1]);
  std::swap(r.actions[0], r.actions[1]);
  for (auto* numbers : {r.priors, r.scores, r.q, r.payoffs, r.lows, r.highs, r.average}) std::swap(numbers[0], numbers[1]);
  for (auto* tables : {r.payoffs, r.lows, r.highs})
    for (int p = 0; p < 2; ++p) transpose(tables[p]);
  transpose(r.edge_visits);
  transpose(r.plies);
}

}  // namespace ramify
