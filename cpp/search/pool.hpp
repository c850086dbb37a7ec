// Many games at once: each has a search, all share one evaluator. The pool's places are in several shares, so that some
// are searched while others are evaluated. What a game becomes depends on its number and the seed alone, not on how
// many are played at once, in how many threads, or who else is in the batch.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "search/any_search.hpp"
#include "search/group.hpp"
#include "search/policies.hpp"
#include "search/record.hpp"

namespace ramify {

// How games are played; ramify.selfplay.PlayConfig is the public face, with defaults and ranges.
struct PlaySettings {
  std::int64_t simulations = 800;
  std::int64_t fast_simulations = 0;  // 0: every search is a full one
  double full_share = 1.0;            // share of full searches otherwise; only these are recorded
  double temperature = 1.0;
  double temperature_end = 0.0;
  double temperature_half_life = 10.0;  // in moves
  int temperature_moves = -1;           // after so many moves the temperature is temperature_end; -1: it decays instead
  int opening_moves = 0;                // at most so many random moves before the first search
  double resign_below = -2.0;           // a value; below -1 nobody resigns
  int resign_moves = 3;                 // of the same player, in a row
  double playthrough = 0.1;             // share of games in which nobody may resign
  bool reuse = false;                   // keep what is known of the position from the move before
  int leaves = 1;                       // of one search, evaluated together
  int max_moves = 0;                    // 0: until the end
  PolicySettings acting;                // what actions are sampled from
  int rollouts = -1;                    // evaluated in the core, by so many games played on; -1: from outside
  bool greedy = false;                  // these games are played by the greedy player, otherwise at random
  float prior = 0.0f;                   // of the greedy player's actions, see NativeEvaluator
  bool planner = false;                 // no games: plans
};

class Pool {
 public:
  // Makes the search of a game at its first position.
  using Start = std::function<std::unique_ptr<AnySearch>(std::uint64_t seed)>;

  // Plays the games with the numbers in `unfinished`, then those from `first` on; `games` in all, or without end if it
  // is negative. Games that call Python are played in one thread, which is the caller's own.
  Pool(Start start, const PlaySettings& play, std::uint64_t seed, int places, std::vector<std::int64_t> unfinished,
       std::int64_t first, std::int64_t games, int threads, int shares);

  int places() const { return static_cast<int>(slots_.size()); }
  int shares() const { return static_cast<int>(parts_.size()); }
  // Plays on in one share until every game of it awaits an evaluation, and writes the rows; returns how many.
  int gather(int share, const BatchView& view) { return refill(share, nullptr, view); }
  void absorb(int share, const EvaluationView& evaluation);
  // The same as absorbing the evaluation, if there is one, and then gathering; every game is looked at once for both.
  int refill(int share, const EvaluationView* evaluation, const BatchView& view);
  void cancel();  // takes back what awaits evaluation

  // Games finished since the last call, as records.
  std::vector<std::string> take_finished();
  bool idle() const;  // nobody plays any more
  void stop() { stopped_ = true; }  // start no more games
  // Plays the games with these numbers too, after those that a pool with `games == unfinished.size()` had.
  void add(const std::vector<std::int64_t>& numbers);
  std::int64_t not_begun() const { return std::max<std::int64_t>(0, games_ - next_); }

  struct Counts {
    std::int64_t games = 0, moves = 0, evaluations = 0, simulations = 0, draws = 0, resigned = 0, active = 0;
    std::int64_t cache_hits = 0, cache_misses = 0;
    std::int64_t lengths = 0;  // moves of finished games
    std::uint64_t bytes = 0;
  };
  Counts counts() const;

 private:
  struct Slot {
    std::unique_ptr<AnySearch> search;  // null: nobody plays here
    GameRecord record;
    Rng rng{0};
    std::int64_t wanted = 0;
    bool full = true, may_resign = true;
    int bad[2] = {0, 0};  // moves in a row below the threshold
    Rewards returns{0.0f, 0.0f};
    std::vector<std::string> finished;
    Counts counts;
  };

  void new_game(Slot& slot);
  void play_opening(Slot& slot);
  void begin_search(Slot& slot);
  int advance(Slot& slot);
  void fetch(std::size_t share, std::size_t first, std::size_t end) const;
  int place_rows(std::vector<Part>& parts, bool placed, const BatchView& view);
  void act(Slot& slot, Joint joint, const Report& found);
  Joint choose(Slot& slot, const Report& found) const;
  double temperature_at(std::uint32_t move) const;
  bool resigns(Slot& slot, const Report& found);
  void make_move(Slot& slot, Joint joint, std::uint8_t flags, const Report* found);
  void end_game(Slot& slot, std::uint16_t flags);
  std::size_t first_slot(std::size_t share) const {  // of nearly equal shares, the larger ones first
    return (share * slots_.size() + parts_.size() - 1) / parts_.size();
  }

  Start start_;
  PlaySettings play_;
  std::uint64_t seed_;
  std::vector<Slot> slots_;
  std::vector<std::int64_t> unfinished_;
  std::int64_t first_;
  std::atomic<std::int64_t> next_{0};  // games begun
  std::int64_t games_;
  std::atomic<bool> stopped_{false};
  std::atomic<int> waiting_{0};  // records not taken yet
  std::vector<std::vector<Part>> parts_;  // by share: what is in flight, one part per place
  std::vector<char> one_each_;            // by share: every part of the latest batch had one row
  Group group_;
};

}  // namespace ramify
