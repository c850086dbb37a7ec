// Games behind one run-time interface, with every input checked: what Python and the command line hold.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "games/rules.hpp"
#include "games/walk.hpp"

namespace ramify {

class AnyState;

class AnyGame : public std::enable_shared_from_this<AnyGame> {
 public:
  AnyGame(std::string name, Value::Dict params) : name_(std::move(name)), params_(std::move(params)) {}
  virtual ~AnyGame() = default;

  const std::string& name() const { return name_; }
  const Value::Dict& params() const { return params_; }  // every parameter with the value in force
  virtual int num_actions() const = 0;
  virtual Shape observation_shape() const = 0;
  virtual bool simultaneous() const = 0;
  virtual bool has_chance() const = 0;  // events that chance decides
  virtual std::size_t state_bytes() const = 0;
  virtual std::string notation() const = 0;  // the field that a position's short text form fills, or ""
  virtual const std::vector<Symmetry>& symmetries() const = 0;
  virtual std::unique_ptr<AnyState> initial(std::uint64_t seed) const = 0;
  virtual std::unique_ptr<AnyState> parse(const Value::Dict& parts) const = 0;
  // Turns in `games` games of uniformly random actions: what the rules cost, for benchmarks.
  virtual std::int64_t random_turns(std::uint64_t seed, int games) const = 0;

  std::size_t observation_size() const;

 private:
  std::string name_;
  Value::Dict params_;
};

class AnyState {
 public:
  explicit AnyState(std::shared_ptr<const AnyGame> game) : game_(std::move(game)) {}
  virtual ~AnyState() = default;

  const std::shared_ptr<const AnyGame>& game() const { return game_; }
  const Rewards& returns() const { return returns_; }
  void set_returns(float first, float second) { returns_ = {first, second}; }
  virtual std::unique_ptr<AnyState> copy() const = 0;
  virtual Acting acting() const = 0;
  virtual Key key() const = 0;
  virtual Key history_key() const = 0;
  virtual Key canonical_key() const = 0;
  // What player 0 is thought to win from here on; nothing where the game has no opinion.
  virtual std::optional<float> heuristic() const = 0;
  virtual Stakes stakes() const = 0;  // without bounds where the rules know none
  virtual std::optional<std::vector<Action>> greedy(int player) const = 0;  // see rules.hpp; the player must act
  virtual std::optional<std::vector<Action>> planned(int player) const = 0;  // likewise
  virtual std::vector<Action> actions(int player) const = 0;
  // One action per outcome, and for every action its outcome or -1.
  virtual std::pair<std::vector<Action>, std::vector<std::int16_t>> outcomes(int player) const = 0;
  virtual void observe(int player, float* out) const = 0;
  virtual std::string action_name(int player, Action action) const = 0;
  virtual std::string text() const = 0;
  virtual Value::Dict fields() const = 0;
  virtual std::unique_ptr<AnyState> transform(int symmetry) const = 0;
  // Number of action sequences of that length from here.
  virtual std::uint64_t perft(int depth) const = 0;

  // One action per acting player, in player order. Raises IllegalAction and changes nothing if one cannot be played. Draws the
  // chance events that follow.
  Rewards apply(std::span<const Action> actions);
  // The same without the draws; at a chance event, an outcome.
  Rewards apply_only(std::span<const Action> actions);
  // Where chance decides, what may happen and what will; nothing and kNone elsewhere.
  virtual ChanceEvent chance() const = 0;
  virtual Action peek_chance() const = 0;
  virtual Dice dice() const = 0;
  virtual void set_dice(const Dice& dice) = 0;  // no effect in a game without chance
  Rewards draw_all();  // the chance events here, until a player acts or the game is over
  // The legal action of that name; raises IllegalAction.
  Action action(int player, const std::string& name) const;

 protected:
  virtual Rewards apply_unchecked(Joint joint) = 0;
  Rewards returns_{0.0f, 0.0f};

 private:
  Joint checked(std::span<const Action> actions) const;
  Joint checked_outcome(std::span<const Action> outcome) const;
  std::shared_ptr<const AnyGame> game_;
};

// The dice of a state as parts of its plain data, and back: takes these parts out, with checks.
void add_dice(const Dice& dice, Value::Dict& parts);
Dice take_dice(Value::Dict& parts, const std::string& game);

template <Rules R>
class GameOf;

template <Rules R>
class StateOf final : public AnyState {
 public:
  using Position = typename R::State;
  StateOf(std::shared_ptr<const GameOf<R>> game, Position position, Rewards returns)
      : AnyState(game), rules_(game->rules()), position_(std::move(position)) {
    returns_ = returns;
  }

  const Position& position() const { return position_; }

  std::unique_ptr<AnyState> copy() const override { return std::make_unique<StateOf>(*this); }
  Acting acting() const override { return rules_.acting(position_); }
  Key key() const override { return rules_.key(position_); }
  Key history_key() const override {
    if constexpr (requires { rules_.history_key(position_); }) return rules_.history_key(position_);
    else return key();
  }
  Key canonical_key() const override { return canonical(rules_, position_).first; }
  std::optional<float> heuristic() const override {
    if constexpr (requires { rules_.heuristic(position_); })
      return acting() == kOver ? 0.0f : static_cast<float>(rules_.heuristic(position_));
    else return std::nullopt;
  }
  Stakes stakes() const override {
    if constexpr (requires { rules_.stakes(position_); }) return rules_.stakes(position_);
    else return {};
  }
  std::optional<std::vector<Action>> greedy(int player) const override {
    if constexpr (HasGreedy<R>) {
      std::vector<Action> list(static_cast<std::size_t>(rules_.num_actions()));
      list.resize(static_cast<std::size_t>(rules_.greedy(position_, player, list.data())));
      return list;
    } else {
      return std::nullopt;
    }
  }
  std::optional<std::vector<Action>> planned(int player) const override {
    if constexpr (HasPlan<R>) {
      std::vector<Action> list;
      const std::uint64_t chosen = rules_.plan(position_, 1.0).actions[static_cast<std::size_t>(player)];
      for (Action action = 0; action < rules_.num_actions(); ++action)
        if (chosen >> action & 1) list.push_back(action);
      return list;
    } else {
      return std::nullopt;
    }
  }
  std::vector<Action> actions(int player) const override {
    std::vector<Action> list(static_cast<std::size_t>(rules_.num_actions()));
    list.resize(static_cast<std::size_t>(rules_.actions(position_, player, list.data())));
    return list;
  }
  std::pair<std::vector<Action>, std::vector<std::int16_t>> outcomes(int player) const override {
    const auto n = static_cast<std::size_t>(rules_.num_actions());
    std::vector<Action> list(n);
    std::vector<std::int16_t> index(n);
    list.resize(static_cast<std::size_t>(ramify::outcomes(rules_, position_, player, list.data(), index.data())));
    return {std::move(list), std::move(index)};
  }
  void observe(int player, float* out) const override { rules_.observe(position_, player, out); }
  std::string action_name(int player, Action action) const override {
    return rules_.action_name(position_, player, action);
  }
  std::string text() const override { return rules_.text(position_); }
  Value::Dict fields() const override {
    Value::Dict parts = rules_.fields(position_);
    if constexpr (HasChance<R>) add_dice(position_.dice, parts);
    return parts;
  }
  ChanceEvent chance() const override {
    ChanceEvent event;
    if constexpr (HasChance<R>)
      if (acting() == kChance) rules_.chance(position_, event);
    return event;
  }
  Action peek_chance() const override {
    if constexpr (HasChance<R>)
      if (acting() == kChance) return ramify::peek_chance(rules_, position_);
    return kNone;
  }
  Dice dice() const override {
    if constexpr (HasChance<R>) return position_.dice;
    else return {};
  }
  void set_dice([[maybe_unused]] const Dice& dice) override {
    if constexpr (HasChance<R>) position_.dice = dice;
  }
  std::unique_ptr<AnyState> transform(int symmetry) const override {
    auto image = std::make_unique<StateOf>(*this);
    if constexpr (HasSymmetries<R>) image->position_ = rules_.transform(position_, symmetry);
    if (game()->symmetries()[static_cast<std::size_t>(symmetry)].swaps_players)
      std::swap(image->returns_[0], image->returns_[1]);
    return image;
  }
  std::uint64_t perft(int depth) const override {
    if (depth < 0 || depth > kMostPerft)
      throw InvalidInput("depth of perft must be from 0 to " + std::to_string(kMostPerft) + ", not " + std::to_string(depth));
    return ramify::perft(rules_, position_, depth);
  }

 private:
  Rewards apply_unchecked(Joint joint) override {
    if constexpr (HasChance<R>)
      if (acting() == kChance) return apply_outcome(rules_, position_, joint[0]);
    return rules_.apply(position_, joint);
  }

  const R& rules_;  // owned by the game, which this state keeps alive
  Position position_;
};

template <Rules R>
class GameOf final : public AnyGame {
  static_assert(!HasChance<R> || requires(typename R::State state) { state.dice.seed; },
                "a game with chance needs dice: see rules.hpp");

 public:
  static std::shared_ptr<AnyGame> make(Value::Dict given, std::vector<ParamInfo>* infos) {
    Params params("game '" + std::string(R::name) + "'", std::move(given));
    auto rules = std::make_unique<R>(params);
    params.finish();
    if (infos) *infos = params.infos();
    return std::shared_ptr<AnyGame>(new GameOf(std::move(rules), params.values()));
  }

  const R& rules() const { return *rules_; }
  int num_actions() const override { return rules_->num_actions(); }
  Shape observation_shape() const override { return rules_->observation_shape(); }
  bool simultaneous() const override { return rules_->simultaneous(); }
  bool has_chance() const override { return HasChance<R>; }
  std::size_t state_bytes() const override { return sizeof(typename R::State); }
  std::string notation() const override {
    if constexpr (requires { R::notation; }) return std::string(R::notation);
    else return "";
  }
  const std::vector<Symmetry>& symmetries() const override { return symmetries_; }
  std::unique_ptr<AnyState> initial(std::uint64_t seed) const override {
    auto state = std::make_unique<StateOf<R>>(self(), rules_->initial(seed), Rewards{0.0f, 0.0f});
    if constexpr (HasChance<R>) {
      state->set_dice({combine(mix(seed), 0x64696365) >> 1, 0});  // 63 bits, as seeds of games written in Python
      state->draw_all();
    }
    return state;
  }
  std::unique_ptr<AnyState> parse(const Value::Dict& given) const override {
    Value::Dict parts = given;
    Dice dice;
    if constexpr (HasChance<R>) dice = take_dice(parts, name());
    auto position = rules_->parse(parts);
    if constexpr (HasChance<R>) position.dice = dice;
    Rewards paid{0.0f, 0.0f};
    if constexpr (requires { rules_->returns(position); }) paid = rules_->returns(position);
    return std::make_unique<StateOf<R>>(self(), std::move(position), paid);
  }
  std::int64_t random_turns(std::uint64_t seed, int games) const override {
    return ramify::random_turns(*rules_, seed, games);
  }

 private:
  GameOf(std::unique_ptr<R> rules, Value::Dict params)
      : AnyGame(std::string(R::name), std::move(params)), rules_(std::move(rules)) {
    if constexpr (HasSymmetries<R>) symmetries_ = rules_->symmetries();
    else symmetries_ = {identity_symmetry()};
  }

  std::shared_ptr<const GameOf> self() const { return std::static_pointer_cast<const GameOf>(shared_from_this()); }
  Symmetry identity_symmetry() const {
    Symmetry identity{"identity", {}, {}, false};
    for (int i = 0; i < static_cast<int>(observation_size()); ++i) identity.observation.push_back(i);
    for (int a = 0; a < rules_->num_actions(); ++a) identity.actions.push_back(a);
    return identity;
  }

  std::unique_ptr<R> rules_;
  std::vector<Symmetry> symmetries_;
};

// Native games by name. Filled once, while the module loads.
struct GameEntry {
  std::function<std::shared_ptr<AnyGame>(Value::Dict, std::vector<ParamInfo>*)> make;
};
std::map<std::string, GameEntry>& game_registry();

}  // namespace ramify
