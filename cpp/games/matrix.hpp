// A matrix game: both players choose once, at the same time, and a table says what each gets.
//
// payoffs[i][j] is player 0's reward when player 0 plays i and player 1 plays j, and player 1 gets the opposite; or
// payoffs[p][i][j] is player p's reward. Actions are rows and columns, named by their numbers; a player with fewer of
// them than the other has the first ones only.
//
// Observation: the table as the viewer sees it, its own actions down and the other's across, filled up with zeros to
// the larger number of actions: a plane of the viewer's rewards, a plane of the other player's.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "games/rules.hpp"

namespace ramify {

class Matrix {
 public:
  static constexpr std::string_view name = "matrix";
  static constexpr bool kBothAct = true;
  static constexpr std::int64_t kMaxActions = 1024;

  struct State {
    std::array<std::int16_t, 2> played{-1, -1};  // the players' actions, once chosen
  };

  explicit Matrix(Params& params);

  int num_actions() const { return widest_; }
  Shape observation_shape() const { return {2, widest_, widest_}; }
  bool simultaneous() const { return true; }
  State initial(std::uint64_t) const { return {}; }
  Stakes stakes(const State&) const { return stakes_; }
  Acting acting(const State& s) const { return s.played[0] < 0 ? kBoth : kOver; }

  int actions(const State& s, int player, Action* out) const {
    if (acting(s) == kOver) return 0;
    const int count = counts_[static_cast<std::size_t>(player)];
    for (Action action = 0; action < count; ++action) out[action] = action;
    return count;
  }

  Rewards apply(State& s, Joint joint) const {
    s.played = {static_cast<std::int16_t>(joint[0]), static_cast<std::int16_t>(joint[1])};
    return returns(s);
  }

  Key key(const State& s) const {
    const auto row = static_cast<std::uint16_t>(s.played[0]), column = static_cast<std::uint16_t>(s.played[1]);
    return zobrist(domain_, row | static_cast<Key>(column) << 16);
  }

  void observe(const State& s, int player, float* out) const;
  std::string action_name(const State&, int, Action action) const { return std::to_string(action); }
  std::string text(const State& s) const;
  Value::Dict fields(const State& s) const;
  State parse(const Value::Dict& parts) const;

  Rewards returns(const State& s) const {
    if (s.played[0] < 0) return {0.0f, 0.0f};
    return table_[static_cast<std::size_t>(s.played[0] * counts_[1] + s.played[1])];
  }

 private:
  std::array<int, 2> counts_{};  // actions of each player
  int widest_ = 0;
  Stakes stakes_;
  std::vector<Rewards> table_;  // row after row
  Key domain_ = 0;
};

}  // namespace ramify
