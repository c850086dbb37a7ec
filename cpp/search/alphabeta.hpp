// Alpha-beta search of turn-based games in which one player wins what the other loses: what it can be told, what it
// finds, and the numbers and the table it works with. The search itself is a template, in alphabeta_search.hpp.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "games/rules.hpp"
#include "search/watcher.hpp"

namespace ramify {

struct AlphaBetaSettings {
  int depth = 0;              // plies, at most kMostDepth
  std::int64_t nodes = 0;     // actions tried; 0: no limit
  double seconds = 0.0;       // 0: no limit
  std::int64_t table = 0;     // positions remembered; 0: none
  int width = 0;              // actions looked at in a position, the best ranked; 0: all
  bool quiescence = true;     // follow what is sharp beyond the depth, where the game says what that is
  bool ties = false;          // find every best action
};
constexpr int kMostDepth = 500;

struct AlphaBetaResult {
  Action action = kNone;
  std::vector<Action> ties;  // actions as good as the best one, the best included; only it unless asked
  std::vector<Action> line;  // what follows, the action first
  double value = 0.0;        // for the player to move
  int plies = 0;             // to the forced end of the game, where one was found and it is no draw; else 0
  int depth = 0;             // of the last search that was finished
  std::int64_t nodes = 0;
  bool solved = false;       // deeper search would find the same
  bool interrupted = false;
};

// A value and how soon it comes. Values are whole numbers, so that adding a reward and taking it off again is exact and
// bounds mean the same on both sides of an edge. Of two equal wins the sooner is greater, of two losses the later: the
// low bits take the plies from the root off a win and add them to a loss. They are 0 in a draw and in what a heuristic
// said, and lost when a reward is added on the way: then there is no one end that the value comes from.
using Score = std::int64_t;
constexpr Score kUnit = 1 << 12;            // the least difference of two values: 2^-28
constexpr Score kInfinite = Score{1} << 61;  // the width of a window fits too
Score to_score(double value);               // raises InvalidInput on what is not a number, or out of bounds
constexpr Score value_part(Score score) { return (score + kUnit / 2) & ~(kUnit - 1); }
constexpr int plies_of(Score score) {
  const Score off = value_part(score) - score;
  return static_cast<int>(off < 0 ? -off : off);
}
constexpr double value_of(Score score) { return static_cast<double>(value_part(score) / kUnit) * 0x1p-28; }
// The score of `reward` paid with the end of the game.
constexpr Score ended(Score reward, int ply) { return reward > 0 ? reward - ply : reward < 0 ? reward + ply : 0; }
// The score as seen from `ply` plies later (or earlier, if negative).
constexpr Score seen_from(Score score, int ply) {
  if (plies_of(score) == 0) return score;
  return score > 0 ? score + ply : score - ply;
}

enum class Bound : std::uint8_t { kNone = 0, kLower = 1, kUpper = 2, kExact = 3 };

struct Remembered {
  Key key = 0;      // of the position and the depth: see depth_key
  Score score = 0;  // plies counted from this position
  Action action = kNone;
  std::int16_t depth = 0;
  Bound bound = Bound::kNone;
  bool complete = false;  // no line that matters was cut off by the depth: deeper search finds the same
  bool forced = false;    // to the best or worst end there is

  // Whether a search to this depth from here, without a table, would find the score to be `bound` too. A deeper entry
  // would know better; but then values would depend on what the table happens to hold.
  bool holds_at(int wanted) const {
    return depth == wanted || (complete && depth <= wanted) || (forced && plies_of(score) <= wanted);
  }
};

// A position counts once for every depth, so that one which comes back at other depths keeps what each has found. It also
// mixes the key: authors in Python may simply number their positions.
constexpr Key depth_key(Key position, int depth) { return combine(position, static_cast<Key>(depth)); }

// Entries by key, in pairs: the deeper of two that meet is kept, and the latest beside it.
class BoundTable {
 public:
  explicit BoundTable(std::int64_t positions);
  explicit operator bool() const { return pairs_ > 0; }
  const Remembered* find(Key key) const;
  void put(const Remembered& entry);

 private:
  struct Free {
    void operator()(Remembered* memory) const { std::free(memory); }
  };
  Remembered* pair(Key key) const {
    return memory_.get() + 2 * (((key >> 32) * pairs_) >> 32);
  }
  std::uint64_t pairs_;  // fewer than 2^32
  std::unique_ptr<Remembered[], Free> memory_;
};

// Which actions were good elsewhere: two that refuted their predecessor at the same ply, and a count for every action.
class ActionMemory {
 public:
  ActionMemory(int num_actions, int depth);
  void refuted(int player, Action action, int depth, int ply);
  std::int32_t bonus(int player, Action action, int ply) const;

 private:
  static constexpr std::int32_t kKiller = 1 << 19, kMost = 1 << 16;
  std::vector<std::int32_t> counts_[2];
  std::vector<std::array<Action, 2>> killers_;
};

// An action and how early to look at it: the game's judgement, then with what was learnt.
struct Choice {
  Action action;
  std::int64_t order;
};
// From this rank on, an action comes before all that was learnt: a game gives it to captures and the like.
constexpr std::int32_t kUrgent = 1 << 20;
// Leaves the `width` best ranked, in any order; of equals those with the least index.
void narrow(std::vector<Choice>& choices, std::size_t begin, int width);

}  // namespace ramify
