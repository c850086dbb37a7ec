// Whole games as graphs, for ramify.engine.game_graph.
#include "search/game_graph.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "bind/convert.hpp"
#include "bind/exclusive.hpp"
#include "bind/interpreter.hpp"
#include "bind/modules.hpp"
#include "bind/python_rules.hpp"
#include "bind/register.hpp"
#include "bind/signals.hpp"
#include "search/game_graph_build.hpp"
#include "search/mccfr.hpp"

namespace ramify {
namespace {

using namespace nb::literals;
using Row = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Runs without the GIL; Ctrl-C becomes a KeyboardInterrupt.
template <class Work>
auto interruptible(double seconds, Work work) {
  SignalWatcher watcher;
  try {
    const GilRelease release;
    Budget budget(watcher, seconds);
    return work(budget);
  } catch (const Interrupted&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
}

GameGraph build_python(const nb::object& state, const GraphLimits& limits, Watcher& watcher) {
  const nb::object game = state.attr("game");
  if (nb::cast<bool>(nb::bool_(nb::getattr(game, "chance", nb::bool_(false)))))
    throw InvalidInput("a game with chance cannot be solved: its states have drawn their chance events already");
  const PythonDynamics dynamics{PythonRules(game)};
  return GraphBuilder<PythonDynamics>(dynamics, limits, watcher).build(PythonCursor(state.attr("copy")()));
}

GameGraph build(const nb::object& state, std::int64_t max_positions, double max_seconds) {
  const GraphLimits limits{std::min<std::int64_t>(max_positions, GameGraph::kEnd), max_seconds};
  SignalWatcher watcher;
  try {
    if (const AnyState* native = nullptr; nb::try_cast(state, native)) {
      const auto& run = graph_registry().at(native->game()->name());
      const ReadingState reading(*native);
      const GilRelease release;
      return run(*native, limits, watcher);
    }
    const PythonSection section;
    return build_python(state, limits, watcher);
  } catch (const Interrupted&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
}

std::span<const double> checked(const GameGraph& graph, const Row& strategies) {
  if (strategies.shape(0) != graph.actions.size()) throw InvalidInput("strategies must have one number per choice");
  return {strategies.data(), strategies.shape(0)};
}

nb::tuple solve_graph(const GameGraph& graph, double seconds) {
  std::vector<double> played;
  const auto values = interruptible(seconds, [&](Budget& budget) { return solve(graph, budget, played); });
  return nb::make_tuple(to_array(values), to_array(played));
}

// Every player even between its outcomes, in every position.
nb::ndarray<nb::numpy, double> even(const GameGraph& graph) {
  std::vector<double> strategies;
  strategies.reserve(graph.actions.size());
  for (const GameGraph::Position& position : graph.positions)
    for (const int count : {position.n0, position.n1}) strategies.insert(strategies.end(), count, 1.0 / count);
  return to_array(strategies);
}

nb::tuple respond(const GameGraph& graph, const Row& strategies, int player, bool own) {
  const auto played = checked(graph, strategies);
  const BestResponse found =
      interruptible(0.0, [&](Budget& budget) { return best_response(graph, played, player, own, budget); });
  std::vector<double> answered(played.begin(), played.end());
  for (std::size_t at = 0; at < graph.positions.size(); ++at) {
    double* mine = answered.data() + graph.positions[at].choices(player);
    std::fill_n(mine, graph.positions[at].outcomes(player), 0.0);
    mine[found.outcomes[at]] = 1.0;
  }
  return nb::make_tuple(to_array(found.values), to_array(answered));
}

std::uint32_t checked(const GameGraph& graph, std::int64_t position) {
  if (position < 0 || position >= static_cast<std::int64_t>(graph.positions.size()))
    throw InvalidInput("there is no position " + std::to_string(position));
  return static_cast<std::uint32_t>(position);
}

// (first choice, actions of player 0, actions of player 1, children [n0, n1] with -1 for the end, rewards [n0, n1, 2])
nb::tuple describe_position(const GameGraph& graph, std::int64_t number) {
  const GameGraph::Position& position = graph.positions[checked(graph, number)];
  const auto n0 = static_cast<std::size_t>(position.n0), n1 = static_cast<std::size_t>(position.n1);
  const auto actions = [&](int player) {
    const Action* begin = graph.actions.data() + position.choices(player);
    return to_array(std::vector<Action>(begin, begin + position.outcomes(player)));
  };
  std::vector<std::int64_t> children;
  std::vector<float> rewards;
  for (std::uint64_t edge = position.first_edge; edge < position.first_edge + n0 * n1; ++edge) {
    children.push_back(graph.children[edge] == GameGraph::kEnd ? -1 : std::int64_t{graph.children[edge]});
    rewards.insert(rewards.end(), graph.rewards[edge].begin(), graph.rewards[edge].end());
  }
  return nb::make_tuple(position.first_choice, actions(0), actions(1), to_array(children, {n0, n1}),
                        to_array(rewards, {n0, n1, 2}));
}

nb::object table_at(const GameGraph& graph, const Row& values, std::int64_t number) {
  const std::uint32_t at = checked(graph, number);
  if (values.shape(0) != graph.positions.size()) throw InvalidInput("values must have one number per position");
  const GameGraph::Position& position = graph.positions[at];
  return nb::cast(to_array(payoffs(graph, {values.data(), values.shape(0)}, at),
                           {static_cast<std::size_t>(position.n0), static_cast<std::size_t>(position.n1)}));
}

}  // namespace

void bind_game_graph(nb::module_& m) {
  nb::class_<GameGraph>(m, "GameGraph", "Every position that can follow one, numbered from it (0) on.")
      .def("__len__", [](const GameGraph& g) { return g.positions.size(); })
      .def_prop_ro("num_edges", [](const GameGraph& g) { return g.children.size(); })
      .def_prop_ro("num_choices", [](const GameGraph& g) { return g.actions.size(); })
      .def_ro("zero_sum", &GameGraph::zero_sum)
      .def_prop_ro("order", [](const GameGraph& g) { return to_array(g.order); }, nb::rv_policy::move,
                   "Positions, each after all of its children.", nb::sig("def order(self) -> NDArray[numpy.uint32]"))
      .def("find", [](const GameGraph& g, Key key) {
             const std::uint32_t number = g.numbers.find(key);
             return number == PositionTable::kUnknown ? std::int64_t{-1} : std::int64_t{number};
           }, "key"_a, "The position with this key, or -1.")
      .def("position", &describe_position, "position"_a,
           "(first choice, actions of player 0, of player 1, children [n0, n1] with -1 for the end, rewards [n0, n1, 2]).",
           nb::sig("def position(self, position: int) -> tuple[int, NDArray[numpy.int32], NDArray[numpy.int32], "
                   "NDArray[numpy.int64], NDArray[numpy.float32]]"))
      .def("payoffs", &table_at, "values"_a, "position"_a, "Half differences [n0, n1] in a position, given all values.",
           nb::sig("def payoffs(self, values: NDArray[numpy.float64], position: int) -> NDArray[numpy.float64]"))
      .def("solve", &solve_graph, "max_seconds"_a,
           "(values by position, strategies by choice) of the zero-sum game of half differences.",
           nb::sig("def solve(self, max_seconds: float) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]"))
      .def("uniform", &even, nb::rv_policy::move, "Uniform strategies by choice.",
           nb::sig("def uniform(self) -> NDArray[numpy.float64]"))
      .def("evaluate", [](const GameGraph& g, const Row& strategies) {
             const auto played = checked(g, strategies);
             return to_array(interruptible(0.0, [&](Budget& budget) { return evaluate(g, played, budget); }),
                             {g.positions.size(), 2});
           }, "strategies"_a, nb::rv_policy::move, "Rewards to come, [positions, 2].",
           nb::sig("def evaluate(self, strategies: NDArray[numpy.float64]) -> NDArray[numpy.float64]"))
      .def("best_response", &respond, "strategies"_a, "player"_a, "own"_a,
           "(values by position, strategies with the response by choice); values are own rewards, or half differences.",
           nb::sig("def best_response(self, strategies: NDArray[numpy.float64], player: int, own: bool) "
                   "-> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]"))
      .def("mccfr", [](const GameGraph& g, std::int64_t iterations, std::uint64_t seed, double seconds) {
             return to_array(interruptible(seconds, [&](Budget& b) { return mccfr(g, iterations, seed, b); }));
           }, "iterations"_a, "seed"_a, "max_seconds"_a, nb::rv_policy::move, "Average strategies by choice.",
           nb::sig("def mccfr(self, iterations: int, seed: int, max_seconds: float) -> NDArray[numpy.float64]"));
  m.def("game_graph", &build, "state"_a, "max_positions"_a, "max_seconds"_a,
        "The graph of everything that can follow a state; 0: no limit.",
        nb::sig("def game_graph(state: Any, max_positions: int, max_seconds: float) -> GameGraph"));
}

}  // namespace ramify
