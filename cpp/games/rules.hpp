// What a native game is: a `Rules` class that holds the parameters and a small `State` value that it moves forward.
//
// A game knows nothing of search, of Python, or of the other games. Rules are immutable once built and shared by every
// state and thread; a State is a plain value whose copies are independent. Nothing here checks an action: callers do,
// once, at the border (see any.hpp), so that the search pays for no check.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/params.hpp"
#include "base/rng.hpp"
#include "base/value.hpp"

namespace ramify {

using Action = std::int32_t;  // a player's choice: an index into the policy vector
constexpr Action kNone = -1;  // the "action" of a player who does not act

constexpr std::int64_t kMostTurns = 10'000;  // of a random game written in Python, before it is said not to end

using Rewards = std::array<float, 2>;  // one per player
struct Plan {
  Rewards values{0.0f, 0.0f};
  std::array<std::uint64_t, 2> actions{0, 0};  // of each player, a bit per action: only games with at most 64 plan
};
using Shape = std::vector<int>;        // of an observation: usually channels, rows, columns

// Who chooses now, as a bit mask over players; or that chance decides.
enum Acting : std::uint8_t { kOver = 0, kFirst = 1, kSecond = 2, kBoth = 3, kChance = 4 };
constexpr bool acts(Acting acting, int player) { return (acting >> player) & 1; }
constexpr bool acts_alone(Acting acting) { return acting == kFirst || acting == kSecond; }
constexpr Acting exchanged(Acting acting) {
  return acting == kChance ? kChance : static_cast<Acting>((acting & 1) << 1 | acting >> 1);
}

// One action per player; kNone for a player who does not act.
struct Joint {
  std::array<Action, 2> of{kNone, kNone};
  constexpr Action operator[](int player) const { return of[static_cast<std::size_t>(player)]; }
};

// An outcome of a chance event, as what is applied to a state.
constexpr Joint chance_joint(Action outcome) { return {{outcome, kNone}}; }

// What draws the chance events of a game that is played: event number n is a function of the seed and n.
struct Dice {
  std::uint64_t seed = 0;
  std::uint64_t events = 0;  // so far
  double point() const { return Rng(seed, events).uniform(); }
};

// What chance may bring: outcomes, and their probabilities, which sum to 1.
struct ChanceEvent {
  std::vector<Action> outcomes;
  std::vector<double> probabilities;

  void clear() {
    outcomes.clear();
    probabilities.clear();
  }
  // The outcome at this point of [0, 1), by the cumulated probabilities.
  Action at(double point) const {
    std::size_t i = 0;
    while (i + 1 < outcomes.size() && (point -= probabilities[i]) >= 0.0) ++i;
    return outcomes[i];
  }
};

// A map of the game onto itself: an action a becomes `actions[a]`, and players change places if `swaps_players`. What a
// player saw, its image sees as `new[i] = old[observation[i]]`: where players change places, player 1 of the image sees
// what player 0 saw.
struct Symmetry {
  std::string name;
  std::vector<std::int32_t> observation;
  std::vector<std::int32_t> actions;
  bool swaps_players = false;
};

// What is still at stake in a position: the least and the most that each player can win from here to the end, and
// whether the one wins what the other loses at every turn. It is what lets a solver call a win a win.
struct Stakes {
  Rewards least{-HUGE_VALF, -HUGE_VALF};
  Rewards most{HUGE_VALF, HUGE_VALF};
  bool zero_sum = false;
  // Whether what is won from here up to any turn lies between them too, or between one of them and 0. Discounting needs
  // it: a discounted sum is a mean of such partial sums, and the whole says nothing of its parts (+3, then -3).
  bool throughout = true;
  // What each player can make sure of from here, whatever the other does, as far as the game knows. No strategy comes with
  // it, so that it serves positions below a root, and not the root itself.
  Rewards secured{-HUGE_VALF, -HUGE_VALF};
};
constexpr Stakes zero_sum_stakes(float most) { return {{-most, -most}, {most, most}, true}; }

template <class R>
concept Rules = requires(const R rules, const typename R::State state, typename R::State moving, Params params,
                         Action* actions, float* observation, int player, std::uint64_t seed, Joint joint) {
  requires std::copyable<typename R::State>;
  { R::name } -> std::convertible_to<std::string_view>;
  R(params);                                                         // reads its parameters, raises InvalidInput
  { rules.num_actions() } -> std::same_as<int>;                      // length of the policy vector
  { rules.observation_shape() } -> std::same_as<Shape>;
  { rules.simultaneous() } -> std::same_as<bool>;                    // can both players act at once?
  { rules.initial(seed) } -> std::same_as<typename R::State>;
  { rules.acting(state) } -> std::same_as<Acting>;
  { rules.actions(state, player, actions) } -> std::same_as<int>;    // legal, ascending; room for num_actions
  { rules.apply(moving, joint) } -> std::same_as<Rewards>;           // in place, unchecked
  { rules.key(state) } -> std::same_as<Key>;                         // equal keys promise equal futures
  rules.observe(state, player, observation);                         // writes every float, as that player sees it
  { rules.action_name(state, player, Action{}) } -> std::same_as<std::string>;
  { rules.text(state) } -> std::same_as<std::string>;                // the position for a terminal
  { rules.fields(state) } -> std::same_as<Value::Dict>;              // the position as plain data ...
  { rules.parse(Value::Dict{}) } -> std::same_as<typename R::State>;  // ... and back; raises InvalidInput
};

// Optional members, each with the meaning of leaving it out:
//
//   int outcomes(state, player, Action* actions, std::int16_t* index)   actions with the same effect form one outcome;
//       writes one action per outcome (ascending) and, unless index is null, outcome or -1 for every action.
//       Left out: every legal action is its own outcome.
//   std::vector<Symmetry> symmetries() and State transform(state, k)    symmetry 0 is the identity.
//       Left out: only the identity.
//   std::pair<Key, int> canonical(state)   the least key among the symmetric images, and the symmetry that leads there.
//       One that swaps the players only if `static constexpr bool kCanonicalExchanges = true`: the search then reads a
//       node with the players exchanged. Left out: the key itself and symmetry 0.
//   Rewards returns(state)                 what an explicit position (from parse) has already paid. Left out: 0, 0.
//   float remaining(state)                 the most that either player can still win, the scale of values for the search
//       setting normalize="remaining". Left out: 1.
//   Stakes stakes(state)                   as above; exact bounds are not needed, true ones are. Left out: nothing known.
//   std::string_view R::notation           the field that `game.state("...")` fills. Left out: no such short form.
//   Key history_key(state)                 as key, but also equal only for equal repetition histories.
//   float heuristic(state)                 a guess at what player 0 will still win, strictly between the least and the
//       most it can. Left out: 0. Never asked of a finished game, nor are the next two.
//   void rank(state, const Action* actions, int count, std::int32_t* ranks)   how promising the acting player's actions
//       look at a glance, from 0 on; from 2^20 on for what answers itself, as captures. Left out: all alike.
//   int sharp(state, Action* actions)      actions after which a heuristic is not to be trusted, as captures; -1 where
//       none is before every action was tried, as in check. Left out: none.

//   int greedy(state, player, Action* actions)   the best actions by the judgement of a simple player, ascending, at least
//       one; for rollouts. Left out: rollouts by such a player are refused.

//   Plan plan(state, double discount)      what players who plan ahead expect of the rest of the game, discounted as rewards
//       are, and the actions that they begin with. For the evaluator Planner. Left out: it is refused.

//   Rewards play_randomly(state, Rng& rng, int most, int& turns)   plays on, at most `most` turns, by actions drawn as
//       `actions` and rng.below would draw them, player 0 first; returns the sum of the rewards, which must be exact in any
//       order, and adds to `turns`. For speed alone. Left out: turn by turn.

//   static constexpr bool kBothAct = true  both players act at every turn, or at nearly every one: a search need not ask
//       whether one acts alone. For speed alone. Left out: it asks.

//   void go_on(state, Joint joint)         as apply, where it is known from before that the game is not over then, and what it
//       pays; the state must be the same. For speed alone: a search comes through known positions at every turn but its last.
//       Left out: apply.

//   void chance(state, ChanceEvent& event) and a member `Dice dice` of State   where `acting` says kChance: writes what may
//       happen, at most 65,535 outcomes. `apply` then gets chance_joint of an outcome, whose rewards belong to the turn before.
//       Only a search that looks ahead sees such states: the state of a game that is played draws at once, by the dice, which
//       the rules need not look at, and which `key`, `fields` and `parse` leave out. An outcome means the same in the
//       images of a state under symmetries. Left out: there is no chance.

template <class R>
concept HasChance = requires(const R rules, const typename R::State state, ChanceEvent event) { rules.chance(state, event); };

// The outcome that a game which is played has at the chance event here. Games written in Python draw their own.
template <HasChance R>
Action peek_chance(const R& rules, const typename R::State& state) {
  if constexpr (requires { rules.peek_chance(state); }) {
    return rules.peek_chance(state);
  } else {
    ChanceEvent event;
    rules.chance(state, event);
    return event.at(state.dice.point());
  }
}

// Gives the chance event here that outcome; the next event is drawn anew.
template <HasChance R>
Rewards apply_outcome(const R& rules, typename R::State& state, Action outcome) {
  if constexpr (requires { state.dice; }) ++state.dice.events;
  return rules.apply(state, chance_joint(outcome));
}

template <class R>
concept PlaysRandomly = requires(const R rules, typename R::State state, Rng rng, int turns) {
  { rules.play_randomly(state, rng, 1, turns) } -> std::same_as<Rewards>;
};

template <class R>
concept HasGreedy = requires(const R rules, const typename R::State state, Action* actions) {
  { rules.greedy(state, 0, actions) } -> std::same_as<int>;
};

template <class R>
concept HasPlan = requires(const R rules, const typename R::State state) {
  { rules.plan(state, 1.0) } -> std::same_as<Plan>;
};

template <class R>
concept MergesActions = requires(const R rules, const typename R::State state, Action* actions, std::int16_t* index) {
  { rules.outcomes(state, 0, actions, index) } -> std::same_as<int>;
};

template <class R>
concept HasSymmetries = requires(const R rules, const typename R::State state) {
  { rules.symmetries() } -> std::same_as<std::vector<Symmetry>>;
  { rules.transform(state, 0) } -> std::same_as<typename R::State>;
};

template <class R>
concept HasCanonicalKey = requires(const R rules, const typename R::State state) {
  { rules.canonical(state) } -> std::same_as<std::pair<Key, int>>;
};

// Outcomes of any game: its own, or one per legal action.
template <Rules R>
int outcomes(const R& rules, const typename R::State& state, int player, Action* actions, std::int16_t* index) {
  if constexpr (MergesActions<R>) {
    return rules.outcomes(state, player, actions, index);
  } else {
    const int count = rules.actions(state, player, actions);
    if (index) {
      std::fill(index, index + rules.num_actions(), std::int16_t{-1});
      for (int i = 0; i < count; ++i) index[actions[i]] = static_cast<std::int16_t>(i);
    }
    return count;
  }
}

template <Rules R>
std::pair<Key, int> canonical(const R& rules, const typename R::State& state) {
  if constexpr (HasCanonicalKey<R>) return rules.canonical(state);
  else return {rules.key(state), 0};
}

}  // namespace ramify
