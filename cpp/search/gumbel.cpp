#include "search/gumbel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ramify {
namespace {

// What is added to the logits: the weighed values of all outcomes. Those never tried count as a mix of the evaluation
// and the values of the others.
std::vector<double> weighed_values(const Settings& s, const Node& node, int player, const std::uint32_t* words,
                                   const OutcomeCounts& counts) {
  const std::size_t n = counts.visits.size();
  double all = 0.0, mass = 0.0, sum = 0.0;
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    all += counts.visits[i];
    most = std::max(most, counts.visits[i]);
    if (!counts.known[i]) continue;
    const auto prior = static_cast<double>(decode_prior(words[i]));
    mass += prior;
    sum += prior * counts.values[i];
  }
  const auto evaluation = static_cast<double>(node.evaluation[player]);
  const double mixed = mass > 0.0 ? (evaluation + all * sum / mass) / (1.0 + all) : evaluation;
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = counts.known[i] ? counts.values[i] : mixed;
  if (s.gumbel_rescale) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const double least = *low, width = std::max(*high - *low, 1e-8);
    for (double& value : values) value = (value - least) / width;
  }
  for (double& value : values) value *= (s.gumbel_visit + most) * s.gumbel_value;
  return values;
}

}  // namespace

VisitSchedule::VisitSchedule(int considered, std::int64_t visits) {
  if (considered <= 1) {
    phases_.push_back({0, 0, 1});
    return;
  }
  const int phases = static_cast<int>(std::ceil(std::log2(considered)));
  std::int64_t begin = 0, made = 0;
  for (int left = considered; begin < visits; left = std::max(2, left / 2)) {
    const std::int64_t rounds = std::max<std::int64_t>(1, visits / (static_cast<std::int64_t>(phases) * left));
    phases_.push_back({begin, made, left});
    begin += rounds * left;
    made += rounds;
  }
}

std::uint32_t VisitSchedule::at(std::int64_t visit) const {
  auto phase = phases_.rbegin();
  while (phase->begin > visit) ++phase;
  const std::int64_t wanted = phase->made + (visit - phase->begin) / phase->left;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(wanted, std::numeric_limits<std::uint32_t>::max()));
}

void Race::begin(const Settings& s, std::vector<Action> actions, const std::vector<float>& priors,
                 std::vector<std::uint32_t> visits_before, std::int64_t visits, Rng& rng) {
  actions_ = std::move(actions);
  before_ = std::move(visits_before);
  gumbel_.clear();
  logits_.clear();
  for (const float prior : priors) {
    logits_.push_back(std::log(std::max(prior, 1e-30f)));
    const double uniform = std::max(rng.uniform(), 1e-300);
    gumbel_.push_back(static_cast<float>(-s.gumbel_scale * std::log(-std::log(uniform))));
  }
  const auto most = std::min<std::int64_t>({s.gumbel_considered, static_cast<std::int64_t>(actions_.size()), visits});
  visits_ = std::max<std::int64_t>(1, visits);
  schedule_ = VisitSchedule(static_cast<int>(std::max<std::int64_t>(1, most)), visits_);
}

std::uint32_t Race::choose(const Settings& s, const Node& node, int player, const std::uint32_t* words,
                           const OutcomeCounts& counts) const {
  std::int64_t made = 0;
  for (std::uint32_t i = 0; i < counts.visits.size(); ++i) made += counts.visits[i] - before_[place_of(actions_, word_action(words[i]))];
  const std::uint32_t wanted = schedule_.at(std::clamp<std::int64_t>(made, 0, visits_ - 1));
  const std::uint32_t best = best_of(s, node, player, words, counts, wanted);
  return best != kUntried ? best : choose_interior(s, node, player, words, counts);
}

std::size_t Race::winner(const Settings& s, const Node& node, int player, const std::uint32_t* words,
                         const OutcomeCounts& counts) const {
  std::uint32_t most = 0;
  for (std::uint32_t i = 0; i < counts.visits.size(); ++i)
    most = std::max(most, counts.visits[i] - before_[place_of(actions_, word_action(words[i]))]);
  return place_of(actions_, word_action(words[best_of(s, node, player, words, counts, most)]));
}

std::uint32_t Race::best_of(const Settings& s, const Node& node, int player, const std::uint32_t* words,
                            const OutcomeCounts& counts, std::uint32_t visits) const {
  const std::vector<double> weighed = weighed_values(s, node, player, words, counts);
  std::uint32_t best = kUntried;
  double top = -HUGE_VAL;
  for (std::uint32_t i = 0; i < counts.visits.size(); ++i) {
    const std::size_t place = place_of(actions_, word_action(words[i]));
    if (counts.visits[i] - before_[place] != visits) continue;
    const double score = static_cast<double>(gumbel_[place]) + static_cast<double>(logits_[place]) + weighed[i];
    // The first counts whatever its score: of numbers too large it may be infinite, or none at all.
    if (best == kUntried || score > top || (score == top && words[i] > words[best])) best = i, top = score;
  }
  return best;
}

std::uint32_t choose_interior(const Settings& s, const Node& node, int player, const std::uint32_t* words,
                              const OutcomeCounts& counts) {
  std::vector<double> policy = weighed_values(s, node, player, words, counts);
  double all = 1.0, top = -HUGE_VAL, sum = 0.0;
  for (std::size_t i = 0; i < policy.size(); ++i) {
    policy[i] += std::log(static_cast<double>(decode_prior(words[i])));
    top = std::max(top, policy[i]);
    all += counts.visits[i];
  }
  for (double& p : policy) sum += p = std::exp(p - top);
  std::uint32_t best = 0;
  double highest = -HUGE_VAL;
  for (std::uint32_t i = 0; i < policy.size(); ++i) {
    const double score = policy[i] / sum - counts.visits[i] / all;
    if (score > highest || (score == highest && words[i] > words[best])) best = i, highest = score;
  }
  return best;
}

Pick select_gumbel(const Graph& graph, const Settings& s, const Node& node, const Race* races) {
  std::uint32_t chosen[2] = {0, 0};
  for (int p = 0; p < 2; ++p) {
    if (node.outcomes[p] < 2) continue;
    const std::uint32_t* words = graph.words(node, p);
    const OutcomeCounts counts = count_outcomes(graph, s, node, p);
    chosen[p] = races && races[p].running() ? races[p].choose(s, node, p, words, counts)
                                            : choose_interior(s, node, p, words, counts);
  }
  Pick pick{kUntried, 0, {node.evaluation[0], node.evaluation[1]}};
  if (node.joint()) {
    pick.pair = make_pair_word(chosen[0], chosen[1]);
    pick.edge = find_pair(graph, node, pick.pair);
  } else {
    pick.pair = chosen[node.chooser()];
    if (pick.pair < node.opened) pick.edge = pick.pair;
  }
  return pick;
}

}  // namespace ramify
