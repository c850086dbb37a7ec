// Games whose states are Python objects, for the same engine. Every call needs the GIL, which the caller holds.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <string>

#include "base/error.hpp"
#include "bind/interpreter.hpp"
#include "games/rules.hpp"
#include "search/dynamics.hpp"
#include "search/node.hpp"

namespace ramify {

namespace nb = nanobind;

// A position that walks down with a descent: a Python state of its own.
class PythonCursor {
 public:
  static constexpr bool kNeedsPython = true;
  explicit PythonCursor(nb::object state) : state_(std::move(state)) {}
  PythonCursor(const PythonCursor& other) : state_(other.state_.attr("copy")()) {}
  PythonCursor& operator=(const PythonCursor& other) {
    if (this != &other) state_ = other.state_.attr("copy")();
    return *this;
  }
  PythonCursor(PythonCursor&&) = default;
  PythonCursor& operator=(PythonCursor&&) = default;

  // To call: a thread that searches when the interpreter is about to end goes no further.
  const nb::object& state() const {
    leave_if_exiting();
    return state_;
  }
  PyObject* pointer() const { return state_.ptr(); }

 private:
  nb::object state_;
};

// The State protocol of ramify.games, as the engine wants to call it.
class PythonRules {
 public:
  using State = PythonCursor;
  using Ints = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  using Floats = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;

  explicit PythonRules(const nb::object& game, const Stakes& returns = {})
      : num_actions_(nb::cast<int>(game.attr("num_actions"))),
        chance_(nb::cast<bool>(nb::bool_(nb::getattr(game, "has_chance_events", nb::bool_(false))))),
        returns_(returns) {
    for (nb::handle side : game.attr("observation_shape")) observation_size_ *= nb::cast<std::size_t>(side);
  }

  int num_actions() const { return num_actions_; }
  std::size_t observation_size() const { return observation_size_; }

  Acting acting(const State& s) const {
    int mask = 0;
    for (nb::handle player : s.state().attr("acting")) mask |= 1 << nb::cast<int>(player);
    if (!mask && chance_ && nb::cast<bool>(nb::bool_(s.state().attr("is_chance")))) return kChance;
    return static_cast<Acting>(mask & 3);
  }

  bool has_chance() const { return chance_; }

  void chance(const State& s, ChanceEvent& event) const {
    constexpr const char* kForm = "chance_outcomes() must return an int32 and a float64 array of the same length";
    const auto pair = read<nb::tuple>(s.state().attr("chance_outcomes")(), kForm);
    if (pair.size() != 2) throw InvalidInput(kForm);
    const auto outcomes = read<Ints>(pair[0], kForm);
    const auto probabilities = read<Doubles>(pair[1], kForm);
    const std::size_t count = outcomes.shape(0);
    if (probabilities.shape(0) != count) throw InvalidInput(kForm);
    if (count < 1 || count > static_cast<std::size_t>(kMaxActions))
      throw InvalidInput("a chance event must have from 1 to " + std::to_string(kMaxActions) + " outcomes, not " + std::to_string(count));
    event.outcomes.assign(outcomes.data(), outcomes.data() + count);
    event.probabilities.assign(probabilities.data(), probabilities.data() + count);
    for (const double probability : event.probabilities)
      if (!(probability > 0.0)) throw InvalidInput("the probabilities of chance_outcomes() must be positive");
  }

  Action peek_chance(const State& s) const {
    return read<Action>(s.state().attr("peek_chance")(), "peek_chance() must return an outcome");
  }

  int actions(const State& s, int player, Action* out) const {
    return copy_actions(read<Ints>(s.state().attr("legal_actions")(player), "legal_actions() must return int32[n]"), out);
  }

  int outcomes(const State& s, int player, Action* out, std::int16_t* index) const {
    constexpr const char* kForm = "outcomes() must return a tuple of two int32 arrays";
    const auto pair = read<nb::tuple>(s.state().attr("outcomes")(player), kForm);
    if (pair.size() != 2) throw InvalidInput(kForm);
    const int count = copy_actions(read<Ints>(pair[0], kForm), out);
    if (index) {
      const auto map = read<Ints>(pair[1], kForm);
      if (map.shape(0) != static_cast<std::size_t>(num_actions_))
        throw InvalidInput("outcomes() must return one index per action");
      for (std::size_t a = 0; a < map.shape(0); ++a) {
        if (map(a) < -1 || map(a) >= count) throw InvalidInput("outcomes() returned an index that is not an outcome");
        index[a] = static_cast<std::int16_t>(map(a));
      }
    }
    return count;
  }

  // Leaves a chance event that follows undrawn.
  Rewards apply(State& s, Joint joint) const { return applied(s.state().attr(chance_ ? "apply_only" : "apply"), joint); }

  // As a game is played: chance events are drawn.
  Rewards play(State& s, Joint joint) const { return applied(s.state().attr("apply"), joint); }

  // What the returns may still become, less what has been paid.
  Stakes stakes(const State& s) const {
    const auto paid = read<Floats>(s.state().attr("returns"), "returns must be float32[2]");
    if (paid.size() != 2) throw InvalidInput("returns must be two numbers");
    Stakes left = returns_;
    for (std::size_t p = 0; p < 2; ++p) {
      left.least[p] -= paid.data()[p];
      left.most[p] -= paid.data()[p];
    }
    return left;
  }

  // For a random game that does not end, and for chance events that follow each other without end.
  [[noreturn]] void refuse_endless(const State& s, std::int64_t turns) const { refuse(s, "endless_rollout", turns); }
  [[noreturn]] void refuse_events(const State& s, std::int64_t events) const { refuse(s, "endless_chance", events); }
  [[noreturn]] void refuse(const State& s, const char* error_of, std::int64_t count) const {
    const nb::object error = nb::module_::import_("ramify.games.ending").attr(error_of)(s.state().attr("game"), count);
    PyErr_SetObject(error.type().ptr(), error.ptr());
    throw nb::python_error();
  }

  Key key(const State& s) const { return read<Key>(s.state().attr("key"), "key must be a 64-bit whole number"); }

  double heuristic(const State& s) const {
    const nb::object given = nb::getattr(s.state(), "heuristic", nb::none());
    return given.is_none() ? 0.0 : read<double>(given, "heuristic must be a number, or None");
  }

  void observe(const State& s, int player, float* out) const {
    const auto observation = read<Floats>(s.state().attr("observation")(player), "observation() must return float32");
    if (observation.size() != observation_size_) throw InvalidInput("observation() has the wrong size");
    std::copy(observation.data(), observation.data() + observation_size_, out);
  }

 private:
  static Rewards applied(const nb::object& apply, Joint joint) {
    const nb::object given = joint[0] == kNone   ? apply(joint[1])
                             : joint[1] == kNone ? apply(joint[0])
                                                 : apply(joint[0], joint[1]);
    const auto rewards = read<Floats>(given, "apply() must return float32[2]");
    if (rewards.size() != 2) throw InvalidInput("apply() must return two rewards");
    for (std::size_t p = 0; p < 2; ++p)
      if (!std::isfinite(rewards.data()[p])) throw InvalidInput("apply() must return finite rewards");
    return {rewards.data()[0], rewards.data()[1]};
  }

  // What Python gave, as the type it should have.
  template <class T>
  static T read(nb::object given, const char* wanted) {
    try {
      return nb::cast<T>(given);
    } catch (const nb::cast_error&) {
      throw InvalidInput(wanted);
    }
  }

  int copy_actions(const Ints& list, Action* out) const {
    if (list.shape(0) > static_cast<std::size_t>(num_actions_))
      throw InvalidInput("legal_actions() returned more actions than num_actions");
    for (std::size_t i = 0; i < list.shape(0); ++i) {
      if (list(i) < 0 || list(i) >= num_actions_) throw InvalidInput("legal_actions() returned an action that is not from 0 to num_actions - 1");
      if (i > 0 && list(i) <= list(i - 1)) throw InvalidInput("legal_actions() must be ascending without duplicates");
      out[i] = list(i);
    }
    return static_cast<int>(list.shape(0));
  }

  int num_actions_;
  bool chance_;  // whether there are chance events
  std::size_t observation_size_ = 1;
  Stakes returns_;
};

// As RulesDynamics, but with rules of its own: there is no native game that would own them.
class PythonDynamics : public RulesDynamics<PythonRules> {
 public:
  explicit PythonDynamics(const PythonRules& rules)
      : PythonDynamics(std::make_shared<const PythonRules>(rules)) {}

 private:
  explicit PythonDynamics(std::shared_ptr<const PythonRules> rules)
      : RulesDynamics<PythonRules>(*rules, {}), owned_(std::move(rules)) {}
  std::shared_ptr<const PythonRules> owned_;
};

}  // namespace ramify
