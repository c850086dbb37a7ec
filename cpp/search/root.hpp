// What only the root has: clean priors beside the noised ones it searches with, and a report for the user.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/rng.hpp"
#include "search/any_search.hpp"
#include "search/select.hpp"
#include "search/settings.hpp"

namespace ramify {

// Where an action stands in an ascending list that has it.
inline std::size_t place_of(const std::vector<Action>& ascending, Action action) {
  return static_cast<std::size_t>(std::lower_bound(ascending.begin(), ascending.end(), action) - ascending.begin());
}

// Priors of the root's outcomes as the evaluator gave them, in ascending order of actions.
struct RootPriors {
  std::vector<Action> actions[2];
  std::vector<float> priors[2];

  bool known() const { return !actions[0].empty() || !actions[1].empty(); }
  void clear() { *this = {}; }
  void set(int player, std::vector<Action> ascending, std::vector<float> values);
  float of(int player, Action action) const { return priors[player][place_of(actions[player], action)]; }
};

// Reads priors back from the node's words, for a node that becomes the root.
RootPriors read_priors(const Graph& graph, const Node& node);

// Writes the clean priors into the root's words; where there is noise, tempered and mixed with it as the settings say.
void write_priors(const Graph& graph, const Settings& settings, Node& root, const RootPriors& clean, Rng* noise);

// A sample of the Dirichlet distribution with these parameters.
std::vector<double> dirichlet(Rng& rng, const std::vector<double>& alphas);

// The node as seen from outside; `to_actual` maps stored actions to those of the position (null: they are the same).
Report make_report(const Graph& graph, const Settings& settings, const Node& node, const Ranges& ranges,
                   const std::int32_t* to_actual);

// The report on the same node with the players the other way round.
void exchange_players(Report& report);

}  // namespace ramify
