// Games and states as Python sees them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <random>

#include "base/error.hpp"
#include "bind/convert.hpp"
#include "bind/exclusive.hpp"
#include "bind/interpreter.hpp"
#include "bind/modules.hpp"
#include "bind/numpy.hpp"
#include "games/any.hpp"

namespace ramify {
namespace {

using namespace nb::literals;

// Python functions that finish the picture: {"svg": f(state), "attribute": f(state, name)}. Filled by ramify.games.
nb::dict hooks(nb::handle module) { return nb::cast<nb::dict>(module.attr("hooks")); }

int checked_player(const AnyState& state, std::optional<int> player) {
  if (!player) {
    const Acting acting = state.acting();
    if (acting == kBoth) throw InvalidInput("both players act here: give player=0 or player=1");
    return acting == kSecond ? 1 : 0;
  }
  if (*player != 0 && *player != 1) throw InvalidInput("player must be 0 or 1, not " + std::to_string(*player));
  return *player;
}

nb::object acting_players(const AnyState& state) {
  // Tuples for good, by the mask of players: asked every turn, and never given back, as Python's small ints are. The last one
  // is for chance.
  static const std::array<PyObject*, 5> tuples{Py_BuildValue("()"), Py_BuildValue("(i)", 0), Py_BuildValue("(i)", 1),
                                               Py_BuildValue("(ii)", 0, 1), Py_BuildValue("()")};
  return nb::borrow(tuples[state.acting()]);
}

nb::object observation(const AnyState& state, std::optional<int> player) {
  const int viewer = checked_player(state, player);
  const Shape sides = state.game()->observation_shape();
  const std::vector<Py_ssize_t> shape(sides.begin(), sides.end());
  NewArray<float> array(shape);
  state.observe(viewer, array.data());
  return array.take();
}

// A whole number that Python gave, where it is one and fits.
template <class T>
std::optional<T> whole(nb::handle object) {
  T number = 0;
  if (PyBool_Check(object.ptr())) return std::nullopt;
  if (PyLong_CheckExact(object.ptr())) return nb::try_cast(object, number) ? std::optional(number) : std::nullopt;
  const auto index = nb::steal<nb::object>(PyNumber_Index(object.ptr()));
  if (!index.is_valid()) PyErr_Clear();  // such as an array of several
  return index.is_valid() && nb::try_cast(index, number) ? std::optional(number) : std::nullopt;
}

Action action_of_name(const AnyState& state, nb::handle name, std::optional<int> player) {
  const int chooser = checked_player(state, player);
  try {
    return state.action(chooser, to_text(name));
  } catch (const InvalidInput& error) {
    throw IllegalAction(error.what());  // no text that could be a name
  }
}

// The action that Python gave for the acting player at that place: a whole number, or a name.
Action read_action(const AnyState& state, nb::handle item, std::size_t place) {
  if (PyUnicode_Check(item.ptr())) {
    const Acting acting = state.acting();
    if (place >= (acting == kBoth ? 2u : acting == kOver || acting == kChance ? 0u : 1u)) return kNone;  // apply says how many it takes
    return action_of_name(state, item, acting == kBoth ? static_cast<int>(place) : acting == kSecond);
  }
  if (const std::optional<Action> action = whole<Action>(item)) return *action;
  throw IllegalAction("an action is a whole number from 0 to " + std::to_string(state.game()->num_actions() - 1) +
                      " or a name, not " + shown(item));
}

// One action per acting player; a pair may come as one tuple, as a search's best_action does.
std::vector<Action> read_actions(const AnyState& state, const nb::args& given) {
  const bool packed = given.size() == 1 && PyTuple_Check(nb::handle(given[0]).ptr());
  const auto items = nb::borrow<nb::tuple>(packed ? nb::handle(given[0]) : nb::handle(given));
  std::vector<Action> actions;
  actions.reserve(items.size());
  for (std::size_t place = 0; place < items.size(); ++place) actions.push_back(read_action(state, items[place], place));
  return actions;
}

nb::object apply(AnyState& state, const nb::args& given) {
  const std::vector<Action> actions = read_actions(state, given);
  check_not_read(state);
  return copied<float>(state.apply(actions));
}

nb::object apply_only(AnyState& state, const nb::args& given) {
  const std::vector<Action> actions = read_actions(state, given);
  check_not_read(state);
  return copied<float>(state.apply_only(actions));
}

nb::tuple chance_outcomes(const AnyState& state) {
  const ChanceEvent event = state.chance();
  return nb::make_tuple(copied<std::int32_t>(event.outcomes), copied<double>(event.probabilities));
}

Action peek_chance(const AnyState& state) {
  const Action outcome = state.peek_chance();
  if (outcome == kNone) throw IllegalAction("there is no chance event to draw in\n" + state.text());
  return outcome;
}

Action draw_chance(AnyState& state) {
  const Action outcome = peek_chance(state);
  check_not_read(state);
  state.apply_only(std::array{outcome});
  return outcome;
}

void reseed_chance(AnyState& state, nb::handle seed) {
  const std::optional<std::int64_t> number = whole<std::int64_t>(seed);
  if (!number || *number < 0)
    throw InvalidInput(state.game()->name() + ": chance_seed must be a whole number from 0 to 2**63 - 1, not " + shown(seed));
  check_not_read(state);
  state.set_dice({static_cast<std::uint64_t>(*number), state.dice().events});
}

std::unique_ptr<AnyState> after(const AnyState& state, const nb::args& given) {
  const std::vector<Action> actions = read_actions(state, given);
  std::unique_ptr<AnyState> next = state.copy();
  next->apply(actions);
  return next;
}

nb::object legal_mask(const AnyState& state, std::optional<int> player) {
  const int chooser = checked_player(state, player);
  const auto size = static_cast<std::size_t>(state.game()->num_actions());
  NewArray<bool> mask(size);
  std::fill_n(mask.data(), size, false);
  for (const Action action : state.actions(chooser)) mask.data()[action] = true;
  return mask.take();
}

nb::object greedy_actions(const AnyState& state, std::optional<int> player) {
  const int chooser = checked_player(state, player);
  if (!acts(state.acting(), chooser)) return copied<std::int32_t>(std::vector<Action>{});
  const std::optional<std::vector<Action>> found = state.greedy(chooser);
  return found ? nb::object(copied<std::int32_t>(*found)) : nb::none();
}

nb::object planned_actions(const AnyState& state, std::optional<int> player) {
  const int chooser = checked_player(state, player);
  if (!acts(state.acting(), chooser)) return copied<std::int32_t>(std::vector<Action>{});
  const std::optional<std::vector<Action>> found = state.planned(chooser);
  return found ? nb::object(copied<std::int32_t>(*found)) : nb::none();
}

std::optional<int> current_player(const AnyState& state) {
  const Acting acting = state.acting();
  return acting == kFirst || acting == kSecond ? std::optional(acting == kSecond ? 1 : 0) : std::nullopt;
}

constexpr double kSameReturns = 1e-6;  // returns this close are a draw: sums of rewards are rounded

std::optional<int> winner(const AnyState& state) {
  const double lead = static_cast<double>(state.returns()[0]) - static_cast<double>(state.returns()[1]);
  if (state.acting() != kOver || std::abs(lead) <= kSameReturns) return std::nullopt;
  return lead > 0 ? 0 : 1;
}

nb::tuple outcomes(const AnyState& state, std::optional<int> player) {
  const auto [actions, index] = state.outcomes(checked_player(state, player));
  return nb::make_tuple(copied<std::int32_t>(actions), copied<std::int32_t>(index));
}

nb::tuple reduce_game(const AnyGame& game) {
  return nb::make_tuple(nb::module_::import_("ramify.games").attr("restore_game"),
                        nb::make_tuple(game.name(), to_python(game.params())));
}

std::string show_game(const AnyGame& game) {
  std::string out = game.name() + "(";
  for (const auto& [key, value] : game.params()) out += (out.back() == '(' ? "" : ", ") + key + "=" + describe(value);
  return out + ")";
}

// What `convert` gives; a complaint of it about a value names whose value that is.
template <class Convert>
auto owned(const std::string& owner, Convert convert) {
  try {
    return convert();
  } catch (const InvalidInput& error) {
    throw InvalidInput(owner + ": " + error.what());
  }
}

std::uint64_t read_seed(nb::handle seed) {
  if (seed.is_none()) {
    thread_local std::random_device device;  // opening one costs as much as a few turns
    return (static_cast<std::uint64_t>(device()) << 32) | device();
  }
  if (const std::optional<std::uint64_t> number = whole<std::uint64_t>(seed)) return *number;
  throw InvalidInput("seed must be a whole number from 0 to 2**64 - 1, or None for a fresh one, not " + shown(seed));
}

void bind_symmetry(nb::module_& m) {
  nb::class_<Symmetry>(m, "Symmetry", "A symmetry of a game, as permutations of its observations and actions.")
      .def_ro("name", &Symmetry::name, "Name of the symmetry.")
      .def_ro("swaps_players", &Symmetry::swaps_players, "Whether the symmetry exchanges the players.")
      .def_prop_ro("observation", [](const Symmetry& s) { return to_array(s.observation); }, nb::rv_policy::move,
                   "Indices that transform an observation: new.ravel()[i] = old.ravel()[observation[i]].")
      .def_prop_ro("actions", [](const Symmetry& s) { return to_array(s.actions); }, nb::rv_policy::move,
                   "Permutation of the actions: action a becomes actions[a].")
      .def("__repr__", [](const Symmetry& s) { return "<symmetry '" + s.name + "'>"; });
}

void bind_game(nb::module_& m) {
  nb::class_<AnyGame>(m, "Game", "A game of the compiled core with its parameters. Use ramify.make() to create one.")
      .def_prop_ro("name", &AnyGame::name, "Name of the game, as in ramify.make().")
      .def_prop_ro("params", [](const AnyGame& g) { return to_python(g.params()); },
                   "All parameters of the game, including defaults.",
                   nb::sig("def params(self) -> dict[str, Any]"))
      .def_prop_ro("num_actions", &AnyGame::num_actions, "Number of actions; the length of policy vectors.")
      .def_prop_ro("observation_shape",
                   [](const AnyGame& g) { return nb::tuple(nb::cast(g.observation_shape())); },
                   "Shape of the arrays that State.observation returns.",
                   nb::sig("def observation_shape(self) -> tuple[int, ...]"))
      .def_prop_ro("simultaneous", &AnyGame::simultaneous, "Whether both players may act in the same turn.")
      .def_prop_ro("has_chance_events", &AnyGame::has_chance, "Whether the game has chance events, such as throws of dice.")
      .def_prop_ro("symmetries", &AnyGame::symmetries, nb::rv_policy::reference_internal,
                   "Symmetries of the game, starting with the identity.")
      .def_prop_ro("state_bytes", &AnyGame::state_bytes, "Size of a state in the core, in bytes.")
      .def("initial_state",
           [](const AnyGame& g, nb::handle seed) { return g.initial(read_seed(seed)); }, "seed"_a = nb::none(),
           "Return the initial state.\n\n"
           "The seed is used by games with a random initial state; None chooses a random seed.",
           nb::sig("def initial_state(self, seed: int | None = None) -> State"))
      .def("state",
           [](const AnyGame& g, const std::optional<nb::str>& text, const nb::kwargs& parts) {
             if (text && g.notation().empty()) throw InvalidInput(g.name() + ": positions have no text notation; give their parts by name");
             return g.parse(owned(g.name(), [&] {
               Value::Dict dict = to_dict(parts);
               if (text) dict.emplace_back(g.notation(), to_text(*text));
               return dict;
             }));
           },
           "text"_a = nb::none(), "parts"_a,
           "Return the state with the given fields (see `State.fields`) or in the given text notation, such as a FEN.",
           nb::sig("def state(self, text: str | None = None, **parts: Any) -> State"))
      .def("random_turns", &AnyGame::random_turns, "seed"_a, "games"_a, nb::call_guard<GilRelease>(),
           "Play random games in the core and return the total number of turns. For benchmarks.")
      .def("__eq__", [](const AnyGame& a, nb::handle b) {
             const AnyGame* other = nullptr;
             return nb::try_cast(b, other) && other && a.name() == other->name() && a.params() == other->params();
           }, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const AnyGame& g) { return static_cast<std::int64_t>(hash_text(show_game(g)) >> 2); })
      .def("__repr__", &show_game)
      .def("__reduce__", &reduce_game, nb::sig("def __reduce__(self) -> tuple[Any, ...]"));
}

void bind_state(nb::module_& m) {
  nb::handle module = m;
  const auto copy = [](const AnyState& s) { return s.copy(); };
  nb::class_<AnyState>(m, "State", "A state of a game of the compiled core.")
      .def_prop_ro("game", [](const AnyState& s) { return std::const_pointer_cast<AnyGame>(s.game()); },
                   "The game this state belongs to.")
      .def_prop_ro("acting", &acting_players, "Players to act: (0,), (1,) or (0, 1), or () if the game is over or chance decides.",
                   nb::sig("def acting(self) -> tuple[int, ...]"))
      .def_prop_ro("is_over", [](const AnyState& s) { return s.acting() == kOver; }, "Whether the game is over.")
      .def_prop_ro("current_player", &current_player,
                   "The player to act; None if both players act or the game is over.",
                   nb::sig("def current_player(self) -> int | None"))
      .def_prop_ro("winner", &winner, "The player with the higher returns; None if the game is a draw or not over.",
                   nb::sig("def winner(self) -> int | None"))
      .def_prop_ro("returns", [](const AnyState& s) { return copied<float>(s.returns()); },
                   "Sum of rewards so far for each player, a float32 array of length 2.",
                   nb::sig("def returns(self) -> NDArray[numpy.float32]"))
      .def_prop_ro("key", &AnyState::key,
                   "64-bit key of the state. States with equal keys have the same continuations.")
      .def_prop_ro("history_key", &AnyState::history_key,
                   "Like `key`, but different for states with different repetition histories.")
      .def_prop_ro("canonical_key", &AnyState::canonical_key, 
                   "Smallest key among the images of the state under the symmetries that do not exchange the players.")
      .def_prop_ro("heuristic", &AnyState::heuristic,
                   "Heuristic estimate of the rewards player 0 will still receive; None if the game has no heuristic.",
                   nb::sig("def heuristic(self) -> float | None"))
      .def_prop_ro("stakes", [](const AnyState& s) {
             const Stakes stakes = s.stakes();
             return nb::make_tuple(nb::make_tuple(stakes.least[0], stakes.least[1]),
                                   nb::make_tuple(stakes.most[0], stakes.most[1]), stakes.zero_sum);
           }, "(least, most, zero_sum): bounds per player of the rewards still to come, infinite where the rules know none, "
              "and whether one player wins what the other loses at every turn.",
                   nb::sig("def stakes(self) -> tuple[tuple[float, float], tuple[float, float], bool]"))
      .def_prop_ro("fields", [](const AnyState& s) { return to_python(s.fields()); },
                   "The state as plain data; game.state(**fields) restores it.",
                   nb::sig("def fields(self) -> dict[str, Any]"))
      .def("legal_actions", [](const AnyState& s, std::optional<int> p) {
             return copied<std::int32_t>(s.actions(checked_player(s, p)));
           }, "player"_a = nb::none(),
           "Return the legal actions in ascending order, an int32 array; empty if the player does not act.\n\n"
           "The player may be omitted if only one player acts.",
           nb::sig("def legal_actions(self, player: int | None = None) -> NDArray[numpy.int32]"))
      .def("greedy_actions", &greedy_actions, "player"_a = nb::none(),
           "Return the best actions by the game's simple player, an int32 array; None if the game has no such player.\n\n"
           "In PyRat these are the steps on shortest ways to the nearest cheese.",
           nb::sig("def greedy_actions(self, player: int | None = None) -> NDArray[numpy.int32] | None"))
      .def("planned_actions", &planned_actions, "player"_a = nb::none(),
           "Return the actions that a player who plans ahead begins with, an int32 array; None if the game has no such "
           "player.\n\nIn PyRat it chooses well which piece of cheese to go for first: see ``rf.evaluators.Planner``.",
           nb::sig("def planned_actions(self, player: int | None = None) -> NDArray[numpy.int32] | None"))
      .def("legal_mask", &legal_mask, "player"_a = nb::none(),
           "Return a bool array of length num_actions that is True for legal actions.",
           nb::sig("def legal_mask(self, player: int | None = None) -> NDArray[numpy.bool_]"))
      .def("outcomes", &outcomes, "player"_a = nb::none(),
           "Return the outcomes as a tuple (actions, index) of int32 arrays.\n\n"
           "Actions with the same effect share an outcome: `actions` has one action per outcome; `index` has the outcome\n"
           "of each action, -1 for illegal ones.",
           nb::sig("def outcomes(self, player: int | None = None) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]"))
      .def("apply", &apply, "actions"_a,
           "Play one action per acting player, given by number or name, and return the rewards of both players.\n\n"
           "The state is modified in place. Two actions may be given as one tuple: state.apply(result.best_action).",
           nb::sig("def apply(self, *actions: SupportsIndex | str | tuple[SupportsIndex | str, ...])"
                   " -> NDArray[numpy.float32]"))
      .def("after", &after, "actions"_a, "Return a copy of the state with the given actions applied; see `apply`.",
           nb::sig("def after(self, *actions: SupportsIndex | str | tuple[SupportsIndex | str, ...]) -> State"))
      .def("observation", &observation, "player"_a = nb::none(),
           "Return the observation of the player, a float32 array of shape game.observation_shape.",
           nb::sig("def observation(self, player: int | None = None) -> NDArray[numpy.float32]"))
      .def("action_name",
           [](const AnyState& s, Action action, std::optional<int> p) {
             if (action < 0 || action >= s.game()->num_actions())
               throw InvalidInput("an action of " + s.game()->name() + " must be from 0 to " +
                                  std::to_string(s.game()->num_actions() - 1) + ", not " + std::to_string(action));
             return s.action_name(checked_player(s, p), action);
           },
           "action"_a, "player"_a = nb::none(), "Return the name of an action.")
      .def("action", [](const AnyState& s, const nb::str& name, std::optional<int> p) {
             return action_of_name(s, name, p);
           }, "name"_a, "player"_a = nb::none(), "Return the legal action with the given name.")
      .def("transform", [](const AnyState& s, int k) {
             if (k < 0 || k >= static_cast<int>(s.game()->symmetries().size()))
               throw InvalidInput("symmetry must be from 0 to " + std::to_string(s.game()->symmetries().size() - 1) +
                                  ", not " + std::to_string(k));
             return s.transform(k);
           }, "symmetry"_a, "Return the image of the state under game.symmetries[symmetry].")
      .def("perft", [](const AnyState& s, int depth) {
             const ReadingState reading(s);
             const GilRelease release;
             return s.perft(depth);
           }, "depth"_a, "Return the number of sequences of `depth` actions from this state.")
      .def_prop_ro("is_chance", [](const AnyState& s) { return s.acting() == kChance; },
                   "Whether chance decides here: only of states that apply_only leads to.")
      .def("chance_outcomes", &chance_outcomes,
           "Return the outcomes of the chance event here and their probabilities; both are empty where there is none.",
           nb::sig("def chance_outcomes(self) -> tuple[NDArray[numpy.int32], NDArray[numpy.float64]]"))
      .def("apply_only", &apply_only, "actions"_a,
           "As `apply`, but leave a chance event that follows undrawn. At a chance event, give it this outcome.",
           nb::sig("def apply_only(self, *actions: SupportsIndex | str | tuple[SupportsIndex | str, ...]) -> "
                   "NDArray[numpy.float32]"))
      .def("peek_chance", &peek_chance, "Return the outcome that `draw_chance` would give.")
      .def("draw_chance", &draw_chance, "Draw the chance event here from the seed of this game, in place; return the outcome.")
      .def("reseed_chance", &reseed_chance, "seed"_a, "Draw the chance events still to come from another seed, in place.",
           nb::sig("def reseed_chance(self, seed: int) -> None"))
      .def_prop_ro("chance_seed", [](const AnyState& s) { return s.dice().seed; }, "Seed of the chance events of this game.")
      .def_prop_ro("chance_events", [](const AnyState& s) { return s.dice().events; }, "Number of chance events so far.")
      .def("copy", copy, "Return a copy of the state.")
      .def("__copy__", copy)
      .def("__deepcopy__", [](const AnyState& s, nb::handle) { return s.copy(); }, "memo"_a,
           nb::sig("def __deepcopy__(self, memo: dict[int, Any]) -> State"))
      .def("svg", [module](nb::object self) { return nb::cast<std::string>(hooks(module)["svg"](self)); },
           nb::sig("def svg(self) -> str"), "Return a picture of the state as SVG.")
      .def("_repr_svg_", [module](nb::object self) { return nb::cast<std::string>(hooks(module)["svg"](self)); },
           nb::sig("def _repr_svg_(self) -> str"))
      .def("__getattr__", [module](nb::object self, const std::string& name) -> nb::object {
             return hooks(module)["attribute"](self, name);
           }, nb::sig("def __getattr__(self, name: str) -> Any"))
      .def("__str__", &AnyState::text)
      .def("__repr__", [](const AnyState& s) { return "<" + show_game(*s.game()) + "\n" + s.text() + ">"; })
      .def("__reduce__", [](const AnyState& s) {
             return nb::make_tuple(nb::module_::import_("ramify.games").attr("restore_state"),
                                   nb::make_tuple(std::const_pointer_cast<AnyGame>(s.game()), to_python(s.fields()),
                                                  s.returns()[0], s.returns()[1]));
           }, nb::sig("def __reduce__(self) -> tuple[Any, ...]"))
      .def("_set_returns", [](AnyState& s, float first, float second) {
             check_not_read(s);
             s.set_returns(first, second);
           }, "first"_a, "second"_a);
}

}  // namespace

void bind_games(nb::module_& m) {
  m.attr("hooks") = nb::dict();
  m.attr("SAME_RETURNS") = kSameReturns;
  m.attr("MOST_TURNS") = kMostTurns;
  bind_symmetry(m);
  bind_game(m);
  bind_state(m);
  m.def("game_names", [] {
    std::vector<std::string> names;
    for (const auto& [name, entry] : game_registry()) names.push_back(name);
    return names;
  }, "Return the names of the games of the compiled core.");
  m.def("make_game", [](const std::string& name, const nb::dict& params) {
    return game_registry().at(name).make(owned("game '" + name + "'", [&] { return to_dict(params); }), nullptr);
  }, "name"_a, "params"_a,
     "Create a game; use ramify.make() instead.", nb::sig("def make_game(name: str, params: dict[str, Any]) -> Game"));
  m.def("game_params", [](const std::string& name) {
    std::vector<ParamInfo> infos;
    game_registry().at(name).make({}, &infos);
    nb::list rows;
    for (const ParamInfo& info : infos) rows.append(nb::make_tuple(info.name, to_python(info.fallback), info.help));
    return rows;
  }, "name"_a, "Return a tuple (name, default, description) for each parameter of a game.",
     nb::sig("def game_params(name: str) -> list[tuple[str, Any, str]]"));
}

}  // namespace ramify
