#include "search/policies.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "base/error.hpp"

namespace ramify {
namespace {

using Numbers = std::vector<double>;
using Mask = std::vector<char>;

// Payoffs are known in single precision.
constexpr Precision kSingle{kTie, kRounding * static_cast<double>(std::numeric_limits<float>::epsilon())};

std::size_t rows_of(const Report& found) { return found.actions[0].size(); }
std::size_t columns_of(const Report& found) { return found.actions[1].size(); }
bool is_joint(const Report& found) { return rows_of(found) > 1 && columns_of(found) > 1; }
// Who chooses where not both do; player 1 if nobody does.
int chooser_of(const Report& found) { return rows_of(found) == 1 ? 1 : 0; }

double sum_of(const Numbers& numbers) {
  double sum = 0.0;
  for (const double x : numbers) sum += x;
  return sum;
}

// Sums over the other player's outcomes.
template <class T>
Numbers marginal(const std::vector<T>& table, std::size_t n0, std::size_t n1, int player) {
  Numbers sums(player == 0 ? n0 : n1, 0.0);
  for (std::size_t e = 0; e < table.size(); ++e) sums[player == 0 ? e / n1 : e % n1] += static_cast<double>(table[e]);
  return sums;
}
Numbers visits_of(const Report& found, int player) {
  return marginal(found.edge_visits, rows_of(found), columns_of(found), player);
}

// c(N) * sqrt(N) as in selection, for a root whose edges have so many visits.
double exploration(const Settings& s, double visits) {
  const double n = s.parent_visits == ParentVisits::kNode ? visits + 1.0 : visits;
  const double c = s.c_base > 0.0 ? s.c_puct + std::log((n + s.c_base + 1.0) / s.c_base) : s.c_puct;
  return c * std::sqrt(n);
}

// Visits of each outcome that selection would not have made without noise and forced playouts: KataGo's inverse form.
Numbers excess(const Report& found, const Settings& s, int player) {
  const Numbers visits = visits_of(found, player);
  const std::size_t n = visits.size();
  Numbers surplus(n, 0.0), q(n);
  const double total = sum_of(visits);
  if (total == 0.0) return surplus;
  const double u = exploration(s, total);
  const auto prior = [&](std::size_t i) { return static_cast<double>(found.priors[player][i]); };
  const auto bonus = [&](std::size_t i) { return u * prior(i) / (1.0 + visits[i]); };
  for (std::size_t i = 0; i < n; ++i)  // on the scale on which the search compared them
    q[i] = s.normalize == Normalize::kNone ? static_cast<double>(found.q[player][i])
                                           : static_cast<double>(found.scores[player][i]) - bonus(i);
  const double tried = static_cast<double>(std::ranges::count_if(visits, [](double v) { return v > 0.0; }));
  std::size_t best = n;
  double most = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double rank = visits[i] * (tried - 1.0) / tried + 2.0 * prior(i);
    if (visits[i] > 0.0 && (best == n || rank > most)) best = i, most = rank;
  }
  const double score = q[best] + bonus(best);
  for (std::size_t i = 0; i < n; ++i) {
    if (i == best || visits[i] == 0.0 || !(score > q[i])) continue;
    surplus[i] = std::max(0.0, visits[i] - std::max(0.0, u * prior(i) / (score - q[i]) - 1.0));
  }
  return surplus;
}

// The excess of both players, taken from pairs: see _excess_of_pairs in ramify.engine.policies.
Numbers excess_of_pairs(const Report& found, const Settings& s) {
  const Numbers first = excess(found, s, 0), second = excess(found, s, 1);
  const std::size_t n0 = first.size(), n1 = second.size();
  const auto prior = [&](int p, std::size_t i) { return static_cast<double>(found.priors[p][i]); };
  Numbers taken(n0 * n1);
  if (s.forced_by == ForcedBy::kPlayer || s.forced_playouts == 0.0) {
    for (std::size_t e = 0; e < taken.size(); ++e)
      taken[e] = first[e / n1] * prior(1, e % n1) + prior(0, e / n1) * second[e % n1];
    return taken;
  }
  double total = 0.0;
  for (const std::int64_t visits : found.edge_visits) total += static_cast<double>(visits);
  Numbers forced(n0 * n1);
  for (std::size_t e = 0; e < forced.size(); ++e) {
    const double both = prior(0, e / n1) * prior(1, e % n1);
    const double least = s.forced_form == ForcedForm::kSqrt ? std::sqrt(s.forced_playouts * both * total)
                                                            : s.forced_playouts * both * std::sqrt(total);
    forced[e] = std::min(static_cast<double>(found.edge_visits[e]), least);
  }
  const Numbers rows = marginal(forced, n0, n1, 0), columns = marginal(forced, n0, n1, 1);
  for (std::size_t e = 0; e < taken.size(); ++e)
    taken[e] = std::max(first[e / n1] * forced[e] / std::max(rows[e / n1], 1e-300),
                        second[e % n1] * forced[e] / std::max(columns[e % n1], 1e-300));
  return taken;
}

// The outcomes of a matrix game that are kept for their visits, and their payoffs, imputed where they are unknown.
class KnownPayoffs {
 public:
  KnownPayoffs(const Report& found, const Numbers& visits, double min_visits)
      : n0_(rows_of(found)), n1_(columns_of(found)), known_(n0_ * n1_), weights_(n0_ * n1_, 0.0) {
    for (std::size_t e = 0; e < known_.size(); ++e) {
      known_[e] = !std::isnan(found.payoffs[0][e]) && !std::isnan(found.payoffs[1][e]);
      if (known_[e]) weights_[e] = visits[e];
    }
    for (int p = 0; p < 2; ++p) {
      const Numbers counts = marginal(weights_, n0_, n1_, p);
      for (const double count : counts) kept_[p].push_back(count >= min_visits);
    }
    keep_linked();
    sparse_ = std::ranges::none_of(kept_[0], [](char kept) { return kept; });
    if (sparse_) {
      kept_[0].assign(n0_, 1), kept_[1].assign(n1_, 1);
      keep_linked();
    }
    for (std::size_t e = 0; e < known_.size(); ++e) weights_[e] = known_[e] ? std::max(weights_[e], 1.0) : 0.0;
  }

  bool sparse() const { return sparse_; }  // a player has no outcome with enough visits: all are kept

  // A player's strategy in an equilibrium, over all its outcomes; nothing if no payoff is known.
  Numbers strategy(const Report& found, int player, Choose choose) const {
    Numbers whole(kept_[player].size(), 0.0);
    const auto rows = static_cast<int>(std::ranges::count(kept_[0], 1)), columns = static_cast<int>(std::ranges::count(kept_[1], 1));
    if (!rows) return whole;
    const Numbers first = filled(found.payoffs[0]), second = filled(found.payoffs[1]);
    const MatrixGame game{first.data(), second.data(), rows, columns};
    const Equilibrium solved = solve(game, choose);
    std::size_t next = 0;
    for (std::size_t i = 0; i < whole.size(); ++i)
      if (kept_[player][i]) whole[i] = (player == 0 ? solved.x : solved.y)[next++];
    return whole;
  }

  static Equilibrium solve(const MatrixGame& game, Choose choose) {
    try {
      return solve_matrix(game, choose, false, kSingle);
    } catch (const InvalidInput&) {  // too many outcomes to list all equilibria of: any one is one
      return solve_matrix(game, Choose::kAny, false, kSingle);
    }
  }

 private:
  bool inside(std::size_t e) const { return known_[e] && kept_[0][e / n1_] && kept_[1][e % n1_]; }

  // Leaves only outcomes with a known payoff against the outcomes kept.
  void keep_linked() {
    for (bool changed = true; changed;) {
      Mask linked[2] = {Mask(n0_, 0), Mask(n1_, 0)};
      for (std::size_t e = 0; e < known_.size(); ++e)
        if (inside(e)) linked[0][e / n1_] = linked[1][e % n1_] = 1;
      changed = linked[0] != kept_[0] || linked[1] != kept_[1];
      kept_[0] = std::move(linked[0]), kept_[1] = std::move(linked[1]);
    }
  }

  // Payoffs of the outcomes kept; unknown ones are the mean of the average payoffs of the two outcomes.
  Numbers filled(const std::vector<float>& payoffs) const {
    Numbers earned[2] = {Numbers(n0_, 0.0), Numbers(n1_, 0.0)}, weight = earned[0], other = earned[1];
    for (std::size_t e = 0; e < known_.size(); ++e) {
      if (!inside(e)) continue;
      earned[0][e / n1_] += static_cast<double>(payoffs[e]) * weights_[e];
      earned[1][e % n1_] += static_cast<double>(payoffs[e]) * weights_[e];
      weight[e / n1_] += weights_[e], other[e % n1_] += weights_[e];
    }
    Numbers table;
    for (std::size_t e = 0; e < known_.size(); ++e) {
      if (!kept_[0][e / n1_] || !kept_[1][e % n1_]) continue;
      table.push_back(known_[e] ? static_cast<double>(payoffs[e])
                                : 0.5 * (earned[0][e / n1_] / weight[e / n1_] + earned[1][e % n1_] / other[e % n1_]));
    }
    return table;
  }

  std::size_t n0_, n1_;
  Mask known_;
  Numbers weights_;
  Mask kept_[2];
  bool sparse_ = false;
};

Numbers nash(const Report& found, int player, const PolicySettings& settings) {
  const Numbers visits(found.edge_visits.begin(), found.edge_visits.end());
  if (settings.nash.pruned) {
    const KnownPayoffs payoffs(found, pruned_visits(found, settings.search), settings.nash.min_visits);
    if (!payoffs.sparse()) return payoffs.strategy(found, player, settings.nash.choose);
  }
  return KnownPayoffs(found, visits, settings.nash.min_visits).strategy(found, player, settings.nash.choose);
}

// A strategy that secures the proven value where both choose, from the lower bounds.
std::optional<Numbers> secured(const Report& found, int player) {
  if (!found.has_proof || !found.proven || !is_joint(found)) return std::nullopt;
  Numbers lows(found.lows[player].begin(), found.lows[player].end());
  if (!std::ranges::all_of(lows, [](double low) { return std::isfinite(low); })) return std::nullopt;
  if (player == 1)
    for (double& low : lows) low = -low;
  const MatrixGame game{lows.data(), nullptr, static_cast<int>(rows_of(found)), static_cast<int>(columns_of(found))};
  const Equilibrium solved = KnownPayoffs::solve(game, Choose::kCentroid);
  return player == 0 ? solved.x : solved.y;
}

// The softmax of the logits plus the transformed completed values of Gumbel search.
Numbers improved(const Report& found, const Settings& s, int player) {
  const Numbers visits = visits_of(found, player);
  const double total = sum_of(visits), raw = static_cast<double>(found.evaluation[player]);
  double prior_sum = 0.0, value_sum = 0.0;
  for (std::size_t i = 0; i < visits.size(); ++i) {
    if (visits[i] == 0.0) continue;
    prior_sum += static_cast<double>(found.priors[player][i]);
    value_sum += static_cast<double>(found.priors[player][i]) * static_cast<double>(found.q[player][i]);
  }
  const double mixed = total > 0.0 ? (raw + total * (value_sum / prior_sum)) / (1.0 + total) : raw;
  Numbers values(visits.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = visits[i] > 0.0 ? static_cast<double>(found.q[player][i]) : mixed;
  const auto [low, high] = std::ranges::minmax(values);
  const double scale = (s.gumbel_visit + std::ranges::max(visits)) * s.gumbel_value;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = s.gumbel_rescale ? (values[i] - low) / std::max(high - low, 1e-8) : values[i];
    values[i] = std::log(std::max(static_cast<double>(found.priors[player][i]), 1e-30)) + scale * value;
  }
  const double top = std::ranges::max(values);
  for (double& x : values) x = std::exp(x - top);
  return values;
}

// Outcomes not ruled out by proofs; nothing without a solver, or where both choose. See SearchResult._allowed.
std::optional<Mask> allowed_outcomes(const Report& found, int player) {
  const std::size_t n = found.actions[player].size();
  if (!found.has_proof || is_joint(found) || n == 1) return std::nullopt;
  const std::vector<float>&lows = found.lows[player], &highs = found.highs[player];
  const float value = found.low[player], least = found.least[player], most = found.most[player];
  Mask allowed(n);
  for (std::size_t i = 0; i < n; ++i)
    allowed[i] = found.proven ? found.plies[i] >= 0 && lows[i] >= value : !(highs[i] < value || highs[i] <= least);
  const bool some = std::ranges::count(allowed, 1) > 0;
  const double middle =
      std::isfinite(least) && std::isfinite(most) ? (static_cast<double>(least) + static_cast<double>(most)) / 2.0 : 0.0;
  if (found.proven && some && static_cast<double>(value) != middle) {
    const bool winning = static_cast<double>(value) > middle;  // then the quickest way, else the slowest
    std::int64_t wanted = -1;
    for (std::size_t i = 0; i < n; ++i)
      if (allowed[i] && (wanted < 0 || (winning ? found.plies[i] < wanted : found.plies[i] > wanted))) wanted = found.plies[i];
    for (std::size_t i = 0; i < n; ++i) allowed[i] = allowed[i] && found.plies[i] == wanted;
  }
  return some ? std::optional(std::move(allowed)) : std::nullopt;
}

Numbers method_weights(const Report& found, int player, const PolicySettings& settings) {
  switch (settings.method) {
    case PolicyMethod::kPruned:
      return marginal(pruned_visits(found, settings.search), rows_of(found), columns_of(found), player);
    case PolicyMethod::kNash:
      if (auto strategy = secured(found, player)) return *strategy;
      return nash(found, player, settings);
    case PolicyMethod::kImproved: return improved(found, settings.search, player);
    case PolicyMethod::kAverage:
      if (!found.average[player].empty()) return Numbers(found.average[player].begin(), found.average[player].end());
      return visits_of(found, player);  // one player chooses here: nothing to mix
    case PolicyMethod::kVisits: break;
  }
  return visits_of(found, player);
}

}  // namespace

std::vector<double> pruned_visits(const Report& found, const Settings& search) {
  Numbers visits(found.edge_visits.begin(), found.edge_visits.end());
  if (visits.size() == 1) return visits;
  Numbers left(visits.size());
  if (!is_joint(found)) {
    const Numbers surplus = excess(found, search, chooser_of(found));
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = std::ceil(visits[i] - surplus[i] - 1e-9);
    return left;
  }
  const Numbers taken = excess_of_pairs(found, search);
  for (std::size_t e = 0; e < left.size(); ++e) left[e] = std::max(0.0, visits[e] - taken[e]);
  return sum_of(left) > 0.0 ? left : visits;
}

std::vector<double> policy_weights(const Report& found, int player, const PolicySettings& settings) {
  Numbers weights = method_weights(found, player, settings);
  if (sum_of(weights) == 0.0)  // a search of one simulation knows nothing but priors
    weights.assign(found.priors[player].begin(), found.priors[player].end());
  const bool mixed = settings.method == PolicyMethod::kNash || settings.method == PolicyMethod::kAverage;
  if (mixed) return weights;
  if (const auto allowed = allowed_outcomes(found, player)) {
    Numbers rest(weights.size());
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = (*allowed)[i] ? weights[i] : 0.0;
    if (sum_of(rest) > 0.0) return rest;
    weights.assign(allowed->begin(), allowed->end());
  }
  return weights;
}

void temper(std::vector<double>& weights, double temperature) {
  const double most = std::ranges::max(weights);
  for (double& weight : weights) weight = weight > 0.0 ? std::pow(weight / most, 1.0 / temperature) : 0.0;
}

std::size_t greedy_outcome(const Report& found, int player, const std::vector<double>& weights,
                           const PolicySettings& settings) {
  if (settings.method == PolicyMethod::kVisits && found.winner[player] >= 0) {
    const auto allowed = allowed_outcomes(found, player);
    if (!allowed || std::ranges::count(*allowed, 0) == 0) return static_cast<std::size_t>(found.winner[player]);
  }
  const auto rank = [&](std::size_t i) { return std::tuple(weights[i], found.q[player][i], found.priors[player][i]); };
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < weights.size(); ++i)
    if (rank(i) > rank(chosen)) chosen = i;
  return chosen;
}

}  // namespace ramify
