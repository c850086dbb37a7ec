// Policies of the core on a report, for comparison with those of ramify.engine.policies.
#include <nanobind/nanobind.h>

#include "base/error.hpp"
#include "bind/modules.hpp"
#include "bind/search.hpp"
#include "search/policies.hpp"

namespace ramify {
namespace {

using namespace nb::literals;

template <class T>
std::vector<T> numbers_of(nb::handle array) {
  const auto view = nb::cast<nb::ndarray<const T, nb::c_contig, nb::device::cpu>>(array, false);
  return {view.data(), view.data() + view.size()};
}

template <class T>
void read_pair(const nb::dict& d, const char* name, std::vector<T> (&target)[2]) {
  for (std::size_t p = 0; p < 2; ++p) target[p] = numbers_of<T>(d[name][p]);
}

// Two halves of an array, or two quarters of it from `start` on.
void read_parts(const std::vector<float>& all, std::size_t size, std::size_t start, std::vector<float> (&target)[2]) {
  for (std::size_t p = 0; p < 2; ++p) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(start + p * size);
    target[p].assign(from, from + static_cast<std::ptrdiff_t>(size));
  }
}

void read_proof(const nb::dict& d, Report& report) {
  report.has_proof = true;
  report.proven = nb::cast<bool>(d["proven"]);
  const std::vector<float> bounds = numbers_of<float>(d["bounds"]), stakes = numbers_of<float>(d["stakes"]);
  for (std::size_t p = 0; p < 2; ++p) {
    report.low[p] = bounds.at(p), report.high[p] = bounds.at(p + 2);
    report.least[p] = stakes.at(p), report.most[p] = stakes.at(p + 2);
  }
  const std::vector<float> edges = numbers_of<float>(d["edge_bounds"]);
  const std::size_t size = report.edge_visits.size();
  if (edges.size() != 4 * size) throw InvalidInput("edge_bounds must have shape [2, 2, n0, n1]");
  read_parts(edges, size, 0, report.lows);
  read_parts(edges, size, 2 * size, report.highs);
  report.plies = numbers_of<std::int64_t>(d["plies"]);
}

// The inverse of to_python(Report), as far as policies need it.
Report to_report(const nb::dict& d) {
  Report report;
  report.acting = static_cast<Acting>(nb::cast<int>(d["acting"]));
  report.edge_visits = numbers_of<std::int64_t>(d["edge_visits"]);
  read_pair(d, "outcomes", report.actions);
  read_pair(d, "priors", report.priors);
  read_pair(d, "scores", report.scores);
  read_pair(d, "q", report.q);
  const std::size_t size = report.actions[0].size() * report.actions[1].size();
  const std::vector<float> payoffs = numbers_of<float>(d["payoffs"]), evaluation = numbers_of<float>(d["evaluation"]);
  bool fits = size > 0 && report.edge_visits.size() == size && payoffs.size() == 2 * size && evaluation.size() == 2;
  for (int p = 0; p < 2; ++p) {
    const std::size_t n = report.actions[p].size();
    fits = fits && report.priors[p].size() == n && report.q[p].size() == n;
    fits = fits && (!acts(report.acting, p) || report.scores[p].size() == n);
  }
  if (!fits) throw InvalidInput("the arrays of a report must have one number per outcome, or per pair of outcomes");
  read_parts(payoffs, size, 0, report.payoffs);
  std::copy(evaluation.begin(), evaluation.end(), report.evaluation);
  if (d.contains("average")) read_pair(d, "average", report.average);
  if (d.contains("winners"))
    for (std::size_t p = 0; p < 2; ++p) report.winner[p] = nb::cast<int>(d["winners"][p]);
  if (d.contains("bounds")) read_proof(d, report);
  return report;
}

nb::object outcome_policy(const nb::dict& found, const nb::dict& settings, const nb::dict& acting, int player,
                          double temperature) {
  const Report report = to_report(found);
  const PolicySettings policy = to_policy(acting, to_settings(settings));
  if (player < 0 || player > 1 || !acts(report.acting, player)) throw InvalidInput("this player does not act here");
  std::vector<double> weights = policy_weights(report, player, policy);
  if (temperature > 0.0) {
    temper(weights, temperature);
    double sum = 0.0;
    for (const double weight : weights) sum += weight;
    for (double& weight : weights) weight /= sum;
  } else {
    const std::size_t chosen = greedy_outcome(report, player, weights, policy);
    weights.assign(weights.size(), 0.0);
    weights.at(chosen) = 1.0;
  }
  return array_of(weights);
}

}  // namespace

void bind_policies(nb::module_& m) {
  m.def("outcome_policy", &outcome_policy, "report"_a, "settings"_a, "acting"_a, "player"_a, "temperature"_a,
        "Probabilities of a player's outcomes as self-play computes them; use SearchResult.policy() instead.",
        nb::sig("def outcome_policy(report: dict[str, Any], settings: dict[str, Any], acting: dict[str, Any], "
                "player: int, temperature: float) -> NDArray[numpy.float64]"));
}

}  // namespace ramify
