// Pig: in each turn a player rolls a die as often as it dares. A 1 ends the turn and loses what the turn has brought; holding
// ends it too, and keeps the sum. Whoever first has `target` points wins, at once.
//
// Action 0 = "roll", 1 = "hold"; a turn begins with a roll. The die is a chance event, whose outcomes are its faces, from 1 on.
// Observation, one row of 5 numbers: own points, the other player's, the points of this turn, all divided by the target; 1 for
// the player who acts; the share of turns that are left, where they are limited, otherwise 0.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "games/board.hpp"
#include "games/rules.hpp"

namespace ramify {

class Pig {
 public:
  static constexpr std::string_view name = "pig";
  static constexpr Action kRoll = 0, kHold = 1;

  struct State {
    std::array<std::uint16_t, 2> points{0, 0};
    std::uint16_t total = 0;  // of this turn
    std::uint16_t turns = 0;  // finished ones, counted where they are limited
    std::uint8_t player = 0;  // whose turn it is, or who has won
    bool rolling = false;     // the die decides
    Dice dice;
  };

  explicit Pig(Params& params) {
    target_ = static_cast<int>(params.integer("target", 100, 2, 1000, "points that win"));
    sides_ = static_cast<int>(params.integer("sides", 6, 2, 100, "faces of the die, numbered from 1"));
    max_turns_ = static_cast<int>(
        params.integer("max_turns", 0, 0, 10'000, "turns of both players before a draw; 0: no limit"));
    const auto key = [](int number, int shift) { return static_cast<Key>(number) << shift; };
    domain_ = combine(hash_text(name), key(target_, 32) | key(sides_, 16) | key(max_turns_, 0));
    for (Action face = 1; face <= sides_; ++face) faces_.outcomes.push_back(face);
    faces_.probabilities.assign(static_cast<std::size_t>(sides_), 1.0 / sides_);
  }

  int num_actions() const { return 2; }
  Shape observation_shape() const { return {5}; }
  bool simultaneous() const { return false; }
  State initial(std::uint64_t) const { return {}; }
  Stakes stakes(const State&) const { return zero_sum_stakes(1.0f); }
  Acting acting(const State& s) const {
    if (s.points[s.player] >= target_ || (max_turns_ && s.turns == max_turns_)) return kOver;
    return s.rolling ? kChance : s.player ? kSecond : kFirst;
  }
  void chance(const State&, ChanceEvent& event) const { event = faces_; }

  int actions(const State& s, int player, Action* out) const {
    if (!acts(acting(s), player)) return 0;
    out[0] = kRoll;
    out[1] = kHold;
    return s.total ? 2 : 1;
  }

  Rewards apply(State& s, Joint joint) const {
    if (s.rolling) return roll(s, joint[0]);
    if (joint[s.player] == kRoll) {
      s.rolling = true;
    } else {
      s.points[s.player] = static_cast<std::uint16_t>(s.points[s.player] + s.total);
      end_turn(s);
    }
    return {0.0f, 0.0f};
  }

  // 50 bits that no other position has; points need 11, because the last roll may bring more than the target.
  Key key(const State& s) const {
    const Key points = s.points[0] | static_cast<Key>(s.points[1]) << 11 | static_cast<Key>(s.total) << 22;
    const Key turn = static_cast<Key>(s.turns) << 2 | static_cast<Key>(s.player) << 1 | static_cast<Key>(s.rolling);
    return zobrist(domain_, points | turn << 33);
  }

  float heuristic(const State& s) const {
    const int turn = s.player ? -s.total : s.total;
    const auto lead = static_cast<float>(s.points[0] - s.points[1] + turn);
    return lead / (std::abs(lead) + 0.5f * static_cast<float>(target_));
  }

  // Rolls while a roll brings more points than it costs on average: with six faces, up to 19 points.
  int greedy(const State& s, int player, Action* out) const {
    if (!acts(acting(s), player)) return 0;
    out[0] = s.total >= sides_ * (sides_ + 1) / 2 - 1 ? kHold : kRoll;
    return 1;
  }

  void observe(const State& s, int player, float* out) const {
    const auto share = [&](int points) { return static_cast<float>(points) / static_cast<float>(target_); };
    const auto viewer = static_cast<std::size_t>(player);
    out[0] = share(s.points[viewer]);
    out[1] = share(s.points[1 - viewer]);
    out[2] = share(s.total);
    out[3] = s.player == player ? 1.0f : 0.0f;
    out[4] = max_turns_ ? static_cast<float>(max_turns_ - s.turns) / static_cast<float>(max_turns_) : 0.0f;
  }

  std::string action_name(const State&, int, Action action) const { return action == kRoll ? "roll" : "hold"; }

  std::string text(const State& s) const {
    std::string out;
    for (std::size_t p = 0; p < 2; ++p)
      out += "player " + std::to_string(p) + ": " + std::to_string(s.points[p]) + " of " + std::to_string(target_) + " points\n";
    const std::string who = "player " + std::to_string(s.player);
    if (acting(s) == kOver) return out + (s.points[s.player] >= target_ ? who + " has won" : "draw");
    return out + who + (s.rolling ? " rolls" : " to move") + ", " + std::to_string(s.total) + " points in this turn";
  }

  Value::Dict fields(const State& s) const {
    Value::Dict parts{{"points", Value::List{int{s.points[0]}, int{s.points[1]}}}, {"total", int{s.total}}};
    parts.emplace_back("player", int{s.player});
    parts.emplace_back("rolling", s.rolling);
    if (max_turns_) parts.emplace_back("turns", int{s.turns});
    return parts;
  }

  State parse(const Value::Dict& parts) const {
    const auto find = [&](std::string_view wanted) {
      return part(parts, wanted, {"points", "total", "player", "rolling", "turns"}, name);
    };
    State s;
    const Value* points = find("points");
    const auto* both = points ? std::get_if<Value::List>(&points->data) : nullptr;
    if (!both || both->size() != 2)
      throw InvalidInput("pig: points must be two whole numbers, one per player" + (points ? ", not " + describe(*points) : ""));
    for (std::size_t p = 0; p < 2; ++p) s.points[p] = number(&(*both)[p], "points", target_ + sides_ - 1);
    s.total = number(find("total"), "total", target_ - 1);
    s.player = static_cast<std::uint8_t>(number(find("player"), "player", 1));
    s.turns = number(find("turns"), "turns", max_turns_);
    if (const Value* rolling = find("rolling")) {
      const auto* given = std::get_if<bool>(&rolling->data);
      if (!given) throw InvalidInput("pig: rolling must be True or False, not " + describe(*rolling));
      s.rolling = *given;
    }
    check(s);
    return s;
  }

  Rewards returns(const State& s) const { return s.points[s.player] >= target_ ? win_for(s.player) : Rewards{0.0f, 0.0f}; }

 private:
  Rewards roll(State& s, Action face) const {
    s.rolling = false;
    if (face == 1) {
      end_turn(s);
      return {0.0f, 0.0f};
    }
    s.total = static_cast<std::uint16_t>(s.total + face);
    if (s.points[s.player] + s.total < target_) return {0.0f, 0.0f};
    s.points[s.player] = static_cast<std::uint16_t>(s.points[s.player] + s.total);
    s.total = 0;
    return win_for(s.player);
  }

  void end_turn(State& s) const {
    s.total = 0;
    s.player = !s.player;
    s.turns = static_cast<std::uint16_t>(s.turns + (max_turns_ > 0));
  }

  // A whole number from 0 to `most`; 0 if it is not given.
  static std::uint16_t number(const Value* given, const std::string& what, int most) {
    if (!given) return 0;
    const auto* found = std::get_if<std::int64_t>(&given->data);
    if (!found || *found < 0 || *found > most)
      throw InvalidInput("pig: " + what + " must be " + (most ? "whole, from 0 to " + std::to_string(most) : "0") +
                         ", not " + describe(*given));
    return static_cast<std::uint16_t>(*found);
  }

  void check(const State& s) const {
    const auto fail = [](const std::string& why) { throw InvalidInput("pig: " + why); };
    if (s.points[1 - s.player] >= target_) fail("the player whose turn it is must be the one who has won");
    if (s.points[0] == 1 || s.points[1] == 1 || s.total == 1) fail("a turn brings no point or at least two, because a 1 loses it");
    const int mover = s.turns % 2;
    if (max_turns_ && s.player != mover)
      fail("player 0 begins, so after " + std::to_string(s.turns) + " turns it is that of player " + std::to_string(mover));
    const bool over = acting(s) == kOver;
    if (over && (s.total || s.rolling)) fail("nobody rolls in a game that is over");
    if (!over && s.points[s.player] + s.total >= target_)
      fail("a player who has " + std::to_string(target_) + " points with those of the turn has won");
  }

  int target_ = 0, sides_ = 0, max_turns_ = 0;
  Key domain_ = 0;
  ChanceEvent faces_;
};

}  // namespace ramify
