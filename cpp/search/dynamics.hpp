// What moves a search forward: the rules of a game, or a learned model of one. The only thing the engine is a template
// over; each supplies a Cursor that walks down with a descent.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "games/rules.hpp"
#include "search/any_search.hpp"
#include "search/settings.hpp"
#include "search/slots.hpp"

namespace ramify {

// The key under which a position may be shared, and the symmetry that leads to the stored orientation.
struct SharedKey {
  Key key;
  int symmetry;
};

template <class R>
class RulesDynamics {
 public:
  using Cursor = typename R::State;
  static constexpr bool kLatent = false;
  static constexpr bool kNeedsPython = requires { Cursor::kNeedsPython; };
  static constexpr bool kMerges = MergesActions<R>;
  static constexpr bool kExchanges = requires { requires R::kCanonicalExchanges; };
  static constexpr bool kChance = HasChance<R>;
  static constexpr bool kBothAct = requires { requires R::kBothAct; };

  RulesDynamics(const R& rules, const std::vector<Symmetry>& symmetries) : rules_(&rules) {
    for (const Symmetry& symmetry : symmetries) {
      std::vector<std::int32_t> inverse(symmetry.actions.size());
      for (std::size_t a = 0; a < inverse.size(); ++a)
        inverse[static_cast<std::size_t>(symmetry.actions[a])] = static_cast<std::int32_t>(a);
      inverse_.push_back(std::move(inverse));
      swaps_.push_back(symmetry.swaps_players);
    }
  }

  const R& rules() const { return *rules_; }
  int num_actions() const { return rules_->num_actions(); }
  Acting acting(const Cursor& cursor) const { return rules_->acting(cursor); }
  Rewards apply(Cursor& cursor, Joint joint) const { return rules_->apply(cursor, joint); }
  // As apply, where the game is known to go on.
  void go_on(Cursor& cursor, Joint joint) const {
    if constexpr (requires { rules_->go_on(cursor, joint); }) rules_->go_on(cursor, joint);
    else rules_->apply(cursor, joint);
  }
  Key key(const Cursor& cursor) const { return rules_->key(cursor); }
  // Fetches from memory what the rules read of a game beside the cursor, in two steps.
  void fetch(const Cursor& cursor, int step) const {
    if constexpr (requires { rules_->fetch(cursor, step); }) rules_->fetch(cursor, step);
  }
  void chance(const Cursor& cursor, ChanceEvent& event) const {
    if constexpr (kChance) rules_->chance(cursor, event);
    else event.clear();
  }
  bool has_chance() const {
    if constexpr (requires { rules_->has_chance(); }) return rules_->has_chance();
    else return kChance;
  }
  // What the game that is played draws here, and what follows.
  Action peek_chance(const Cursor& cursor) const
    requires(kChance)
  {
    return ramify::peek_chance(*rules_, cursor);
  }
  Rewards apply_outcome(Cursor& cursor, Action outcome) const
    requires(kChance)
  {
    return ramify::apply_outcome(*rules_, cursor, outcome);
  }

  // Positions may share a node only if their whole futures are equal: where repetition counts, that is history_key.
  SharedKey shared_key(const Cursor& cursor, const Settings& settings) const {
    if constexpr (HasCanonicalKey<R>)
      if (settings.canonical) {
        const auto [key, symmetry] = rules_->canonical(cursor);
        return {key, symmetry};
      }
    return {future_key(cursor), 0};
  }
  Key future_key(const Cursor& cursor) const {
    if constexpr (requires { rules_->history_key(cursor); }) return rules_->history_key(cursor);
    else return rules_->key(cursor);
  }

  int outcomes(const Cursor& cursor, int player, Action* actions, std::int16_t* index) const {
    if constexpr (kMerges) return rules_->outcomes(cursor, player, actions, index);
    else return ramify::outcomes(*rules_, cursor, player, actions, index);
  }
  int legal(const Cursor& cursor, int player, Action* actions) const { return rules_->actions(cursor, player, actions); }
  void observe(const Cursor& cursor, int player, float* out) const { rules_->observe(cursor, player, out); }

  // The most that can still be won from here, as a scale for values.
  float remaining(const Cursor& cursor) const {
    if constexpr (requires { rules_->remaining(cursor); }) return rules_->remaining(cursor);
    else return 1.0f;
  }

  Stakes stakes(const Cursor& cursor) const {
    if constexpr (requires { rules_->stakes(cursor); }) return rules_->stakes(cursor);
    else return {};
  }

  // The position in the orientation in which its node is stored.
  Cursor transform(const Cursor& cursor, int symmetry) const {
    if constexpr (HasSymmetries<R>) return rules_->transform(cursor, symmetry);
    else return cursor;
  }
  // Action of the stored orientation -> action of the position. Null for the identity.
  const std::int32_t* to_actual(int symmetry) const {
    return symmetry ? inverse_[static_cast<std::size_t>(symmetry)].data() : nullptr;
  }
  // Whether the players of the stored orientation are those of the position the other way round.
  bool swaps(int symmetry) const { return kExchanges && symmetry && swaps_[static_cast<std::size_t>(symmetry)]; }

 private:
  const R* rules_;
  std::vector<std::vector<std::int32_t>> inverse_;
  std::vector<char> swaps_;
};

enum class ActingOrder : std::uint8_t { kAlternating, kSingle, kBoth };

// A learned model: positions are latent states kept elsewhere under slot numbers. Nothing is known of legal actions
// below the root, and rewards arrive with the evaluation.
class LatentDynamics {
 public:
  struct Cursor {
    std::int32_t slot = -1;  // of the latent state here; -1: the root, not yet encoded
    Acting acting = kFirst;
    std::int32_t parent = -1;
    Joint joint;
  };
  static constexpr bool kLatent = true;
  static constexpr bool kNeedsPython = false;
  static constexpr bool kMerges = false;
  static constexpr bool kExchanges = false;
  static constexpr bool kChance = false;
  static constexpr bool kBothAct = false;

  LatentDynamics(int num_actions, ActingOrder order, std::shared_ptr<Slots> slots)
      : num_actions_(num_actions), order_(order), slots_(std::move(slots)) {
    if (num_actions < 1) throw InvalidInput("a model's num_actions must be at least 1, not " + std::to_string(num_actions));
  }

  int num_actions() const { return num_actions_; }
  const std::shared_ptr<Slots>& slots() const { return slots_; }
  Acting acting(const Cursor& cursor) const { return cursor.acting; }
  Rewards apply(Cursor& cursor, Joint joint) const {
    cursor.parent = cursor.slot;
    cursor.slot = -1;
    cursor.joint = joint;
    if (order_ == ActingOrder::kAlternating) cursor.acting = cursor.acting == kFirst ? kSecond : kFirst;
    return {0.0f, 0.0f};
  }
  void go_on(Cursor& cursor, Joint joint) const { apply(cursor, joint); }
  Key key(const Cursor&) const { return 0; }
  void fetch(const Cursor&, int) const {}
  bool has_chance() const { return false; }
  float remaining(const Cursor&) const { return 1.0f; }
  Stakes stakes(const Cursor&) const { return {}; }

  // What the model encodes as the root; nothing if somebody else writes it into the batch.
  void set_root_observation(std::vector<float> observation) { observation_ = std::move(observation); }
  void write_root_observation(const BatchView& batch, std::size_t row) const {
    if (observation_.empty() || !batch.observations) return;
    if (observation_.size() != batch.observation_size)
      throw InvalidInput("the observation of a root has " + std::to_string(observation_.size()) + " numbers, but the batch has room for " +
                         std::to_string(batch.observation_size) + ": states searched together must have observations of one shape");
    std::copy(observation_.begin(), observation_.end(), batch.observations + row * batch.observation_size);
  }

  // Legal actions of the root; empty: all.
  void set_root_legal(std::vector<Action> first, std::vector<Action> second) {
    legal_[0] = std::move(first);
    legal_[1] = std::move(second);
    for (auto& legal : legal_) {
      std::sort(legal.begin(), legal.end());
      legal.erase(std::unique(legal.begin(), legal.end()), legal.end());
      if (legal.empty() || (legal.front() >= 0 && legal.back() < num_actions_)) continue;
      throw InvalidInput("the model's num_actions is " + std::to_string(num_actions_) + ", but action " +
                         std::to_string(legal.front() < 0 ? legal.front() : legal.back()) +
                         " is legal at the root: num_actions must cover all actions of the game");
    }
  }
  int legal(const Cursor& cursor, int player, Action* actions) const {
    const auto& known = legal_[static_cast<std::size_t>(player)];
    if (cursor.parent < 0 && !known.empty()) {
      std::copy(known.begin(), known.end(), actions);
      return static_cast<int>(known.size());
    }
    for (Action a = 0; a < num_actions_; ++a) actions[a] = a;
    return num_actions_;
  }
  int outcomes(const Cursor& cursor, int player, Action* actions, std::int16_t*) const {
    return legal(cursor, player, actions);
  }
  Cursor transform(const Cursor& cursor, int) const { return cursor; }
  const std::int32_t* to_actual(int) const { return nullptr; }
  bool swaps(int) const { return false; }

 private:
  int num_actions_;
  ActingOrder order_;
  std::shared_ptr<Slots> slots_;
  std::vector<float> observation_;
  std::vector<Action> legal_[2];
};

}  // namespace ramify
