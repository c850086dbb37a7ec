// Goofspiel with open hands. Both players hold the cards 1 to n and bid one each turn, at once, for the prize of the
// turn; the higher bid wins it, equal bids discard it. Prizes fall from n to 1 or rise from 1 to n.
//
// Action a bids the card a + 1, and the action's name is that card. As in OpenSpiel, the last turn leaves no choice and
// is played together with the turn before it: n cards make n - 1 turns (one, if n = 1).
//
// Rewards are OpenSpiel's returns. "win": 1, -1 or 0 at the end. "difference": half the prize to the winner of a turn
// and minus half to the other, on that turn, so returns add up to (own points - other's points) / 2.
//
// Observation, planes of 1 x n, a number per card: the viewer's hand; the other's hand; prizes not yet won, the current
// one included; the current prize; and with "win" only, everywhere (own points - other's) / sum of all prizes. With
// "difference" the points so far change nothing that follows, so neither the key nor the observation has them.
#pragma once

#include <array>
#include <bit>
#include <bitset>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "games/board.hpp"
#include "games/rules.hpp"

namespace ramify {

class Goofspiel {
 public:
  static constexpr std::string_view name = "goofspiel";
  static constexpr bool kBothAct = true;
  static constexpr int kMaxCards = 16;
  static constexpr std::size_t kMaxPoints = kMaxCards * (kMaxCards + 1) / 2;

  struct State {
    std::array<std::uint16_t, 2> hands{};   // bit a: the card a + 1, per player
    std::array<std::uint16_t, 2> points{};  // sum of the prizes won, per player
  };

  explicit Goofspiel(Params& params);

  int num_actions() const { return cards_; }
  Shape observation_shape() const { return {4 + win_, 1, cards_}; }
  bool simultaneous() const { return true; }
  State initial(std::uint64_t) const { return {{all_, all_}, {0, 0}}; }
  Stakes stakes(const State& s) const {  // the points that nobody has won: some go to nobody
    const int all = cards_ * (cards_ + 1) / 2, won = s.points[0] + s.points[1];
    return zero_sum_stakes(win_ ? 1.0f : 0.5f * static_cast<float>(all - won));
  }
  Acting acting(const State& s) const { return s.hands[0] ? kBoth : kOver; }

  int actions(const State& s, int player, Action* out) const {
    int count = 0;
    for (unsigned hand = s.hands[static_cast<std::size_t>(player)]; hand; hand &= hand - 1)
      out[count++] = std::countr_zero(hand);
    return count;
  }

  Rewards apply(State& s, Joint joint) const {
    int gained = bid(s, joint);
    if (std::has_single_bit(s.hands[0]))
      gained += bid(s, {{std::countr_zero(s.hands[0]), std::countr_zero(s.hands[1])}});
    if (!win_) return {0.5f * static_cast<float>(gained), -0.5f * static_cast<float>(gained)};
    return returns(s);
  }

  // Hands say the turn, and of the points only the lead matters, if anything: 48 bits that no other position has.
  Key key(const State& s) const {
    const Key hands = s.hands[0] | static_cast<Key>(s.hands[1]) << 16;
    const auto lead = static_cast<std::uint16_t>(win_ ? s.points[0] - s.points[1] : 0);
    return zobrist(domain_, hands | static_cast<Key>(lead) << 32);
  }

  void observe(const State& s, int player, float* out) const;
  std::vector<Symmetry> symmetries() const;
  State transform(State s, int k) const {
    if (k == 1) {
      std::swap(s.hands[0], s.hands[1]);
      std::swap(s.points[0], s.points[1]);
    }
    return s;
  }

  std::string action_name(const State&, int, Action action) const { return std::to_string(action + 1); }
  std::string text(const State& s) const;
  Value::Dict fields(const State& s) const;
  State parse(const Value::Dict& parts) const;

  Rewards returns(const State& s) const {
    const int lead = s.points[0] - s.points[1];
    if (!win_) return {0.5f * static_cast<float>(lead), -0.5f * static_cast<float>(lead)};
    return s.hands[0] || lead == 0 ? Rewards{0.0f, 0.0f} : win_for(lead < 0);
  }

 private:
  int turn(const State& s) const { return cards_ - std::popcount(s.hands[0]); }
  int prize(int turn) const { return descending_ ? cards_ - turn : turn + 1; }

  // Plays one turn; returns what player 0 gained on player 1.
  int bid(State& s, Joint joint) const {
    const int worth = prize(turn(s));
    for (std::size_t p = 0; p < 2; ++p) s.hands[p] = static_cast<std::uint16_t>(s.hands[p] & ~(1u << joint.of[p]));
    if (joint[0] == joint[1]) return 0;
    const std::size_t winner = joint[1] > joint[0];
    s.points[winner] = static_cast<std::uint16_t>(s.points[winner] + worth);
    return winner == 0 ? worth : -worth;
  }

  std::uint16_t read_hand(const Value& cards) const;
  std::uint16_t read_points(const Value& points) const;
  bool can_have(const State& s) const;

  int cards_ = 0;
  bool descending_ = true;
  bool win_ = true;
  std::uint16_t all_ = 0;
  Key domain_ = 0;
};

}  // namespace ramify
