#include "games/pyrat/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "games/pyrat/pyrat.hpp"

namespace ramify {

using namespace pyrat;

void Ways::measure(const Maze& maze, const std::vector<std::uint16_t>& pieces, const Paths& paths) const {
  const auto cells = static_cast<std::size_t>(maze.cells());
  count_ = pieces.size();
  turns_.resize(cells * count_);
  nearest_.resize(cells * count_);
  reached_.resize(cells);
  steps_.assign(cells * count_, kStay);
  for (std::size_t piece = 0; piece < count_; ++piece) {
    const std::uint16_t* const turns = paths.to(maze, pieces, static_cast<int>(piece));
    for (std::size_t cell = 0; cell < cells; ++cell) {
      turns_[cell * count_ + piece] = turns[cell];
      for (int direction = kDirections - 1; direction >= 0 && turns[cell] != Paths::kNever; --direction) {
        const Passage passage = maze.at(static_cast<int>(cell), direction);
        if (passage == kWall) continue;
        if (turns[maze.neighbour(static_cast<int>(cell), direction)] + turns_through(passage) == turns[cell])
          steps_[cell * count_ + piece] = static_cast<std::uint8_t>(direction);
      }
    }
  }
  for (std::size_t cell = 0; cell < cells; ++cell) sort(cell);
}

void Ways::sort(std::size_t cell) const {
  const std::uint16_t* const turns = turns_.data() + cell * count_;
  const auto begin = nearest_.begin() + static_cast<std::ptrdiff_t>(cell * count_), end = begin + static_cast<std::ptrdiff_t>(count_);
  std::iota(begin, end, std::uint16_t{0});
  std::stable_sort(begin, end, [&](std::uint16_t a, std::uint16_t b) { return turns[a] < turns[b]; });
  reached_[cell] = static_cast<std::uint16_t>(count_ - static_cast<std::size_t>(std::count(turns, turns + count_, Paths::kNever)));
}

namespace {

constexpr int kGoals = 4;  // of each player
constexpr int kNoGoal = -1;
constexpr int kNeverThere = std::numeric_limits<int>::max();

// A player on its way: where it stood `since` turns after the leaf, and when it will be at its goal.
struct Runner {
  unsigned cell, mud, score;  // half points
  int since = 0, goal = kNoGoal, there = kNeverThere;
  double paid = 0.0;  // half points, discounted
};

using Cheese = std::array<std::uint64_t, kMaxCheese / 64>;

bool has(const Cheese& cheese, unsigned piece) { return cheese[piece >> 6] >> (piece & 63) & 1; }

// The rest of a game between two players who go for the nearest piece, apart from their first goals.
class Rest {
 public:
  Rest(const State& s, double discount)
      : setup_(*s.setup), cheese_(s.cheese), left_(s.left), turns_(s.setup->max_turns - s.turn), discount_(discount),
        runners_{Runner{s.players[0].cell, s.players[0].mud, s.players[0].score},
                 Runner{s.players[1].cell, s.players[1].mud, s.players[1].score}} {}

  void play(int first, int second) {
    walk(first, second);
    while (!over_) go_on();
  }
  // From the view of a player.
  double paid(std::size_t p) const { return runners_[p].paid / 2; }
  double last_weight() const { return weight(ended_); }
  int lead() const { return static_cast<int>(runners_[0].score) - static_cast<int>(runners_[1].score); }

 private:
  double weight(int turn) const { return discount_ == 1.0 ? 1.0 : std::pow(discount_, turn - 1); }
  bool stands_on(const Runner& r) const {
    const unsigned piece = setup_.piece_at[r.cell];
    return r.mud == 0 && piece != kNoPiece && has(cheese_, piece);
  }

  void walk_on(Runner& r) const {
    if (r.mud > 0) {
      --r.mud;
    } else if (r.goal != kNoGoal) {
      const Step step = setup_.steps[r.cell * kActions + setup_.ways.steps(r.cell)[r.goal]];
      r.cell = step.cell, r.mud = step.mud;
    }
  }

  // Turn by turn to the first goals: on the way there may be other pieces.
  void walk(int first, int second) {
    auto& [a, b] = runners_;
    a.goal = first, b.goal = second;
    bool on_way[2] = {first != kNoGoal, second != kNoGoal};
    for (int turn = 1; !over_ && (on_way[0] || on_way[1]); ++turn) {
      walk_on(a), walk_on(b);
      const bool one = stands_on(a), two = stands_on(b);
      if (one || two) gather(turn, one, two);
      for (std::size_t p = 0; p < 2; ++p) {
        Runner& r = runners_[p];
        r.since = turn;
        if (r.goal == kNoGoal || has(cheese_, static_cast<unsigned>(r.goal))) continue;
        on_way[p] = false;
        choose(r);
      }
      if (turn == turns_) end(turn);
    }
    for (Runner& r : runners_) expect(r);
  }

  // To the next piece that somebody reaches. No other piece lies on the way to the nearest.
  void go_on() {
    auto& [a, b] = runners_;
    const int turn = std::min(a.there, b.there);
    if (turn > turns_) return end(turns_);
    const bool one = a.there == turn, two = b.there == turn;
    for (Runner& r : runners_) {
      if (r.there != turn) continue;
      r.cell = setup_.pieces[static_cast<std::size_t>(r.goal)], r.mud = 0, r.since = turn;
    }
    gather(turn, one, two);
    for (Runner& r : runners_) {
      if (over_ || r.goal == kNoGoal || has(cheese_, static_cast<unsigned>(r.goal))) continue;
      for (; r.since < turn; ++r.since) walk_on(r);
      choose(r);
      expect(r);
    }
  }

  void choose(Runner& r) const {
    const std::uint16_t* const nearest = setup_.ways.nearest(r.cell);
    const unsigned reached = setup_.ways.reached(r.cell);
    r.goal = kNoGoal;
    for (unsigned k = 0; k < reached && r.goal == kNoGoal; ++k)
      if (has(cheese_, nearest[k])) r.goal = nearest[k];
  }
  void expect(Runner& r) const {
    r.there = r.goal == kNoGoal ? kNeverThere : r.since + static_cast<int>(r.mud) + setup_.ways.turns(r.cell)[r.goal];
  }

  void gather(int turn, bool one, bool two) {
    auto& [a, b] = runners_;
    const bool shared = one && two && a.cell == b.cell;
    if (one) take(a, turn, shared ? 1 : 2);
    if (two) take(b, turn, shared ? 1 : 2);
    left_ -= shared ? 1 : one + two;
    const auto total = static_cast<unsigned>(setup_.total);
    if (left_ == 0 || a.score > total || b.score > total) end(turn);
  }
  void take(Runner& r, int turn, unsigned half_points) {
    const unsigned piece = setup_.piece_at[r.cell];
    cheese_[piece >> 6] &= ~(std::uint64_t{1} << (piece & 63));
    r.score += half_points;
    r.paid += weight(turn) * half_points;
  }
  void end(int turn) { over_ = true, ended_ = turn; }

  const Setup& setup_;
  Cheese cheese_;
  int left_, turns_, ended_ = 0;
  double discount_;
  bool over_ = false;
  std::array<Runner, 2> runners_;
};

struct Goals {
  std::array<int, kGoals> list;
  int count = 0;

  void add(int piece) { list[static_cast<std::size_t>(count++)] = piece; }
  int operator[](int k) const { return list[static_cast<std::size_t>(k)]; }
};

Goals goals_of(const State& s, int player) {
  const Ways& ways = s.setup->ways;
  const Player& own = s.players[static_cast<std::size_t>(player)];
  const Player& other = s.players[static_cast<std::size_t>(1 - player)];
  const std::uint16_t *mine = ways.turns(own.cell), *theirs = ways.turns(other.cell), *nearest = ways.nearest(own.cell);
  Goals goals;
  for (const bool late : {false, true})
    for (unsigned k = 0; k < ways.reached(own.cell) && goals.count < kGoals; ++k) {
      const int piece = nearest[k];
      if (s.has(piece) && (mine[piece] + own.mud > theirs[piece] + other.mud) == late) goals.add(piece);
    }
  if (goals.count == 0) goals.add(kNoGoal);
  return goals;
}

}  // namespace

Plan PyRat::plan(const State& s, double discount) const {
  const Setup& setup = *s.setup;
  setup.ways.prepare(setup.maze, setup.pieces, setup.paths);
  const Goals goals[2] = {goals_of(s, 0), goals_of(s, 1)};
  Rewards results[kGoals][kGoals];
  float worst[2][kGoals];  // result of each goal, from the player's view
  for (auto& list : worst) std::fill_n(list, kGoals, HUGE_VALF);
  for (int i = 0; i < goals[0].count; ++i)
    for (int j = 0; j < goals[1].count; ++j) {
      Rest rest(s, discount);
      rest.play(goals[0][i], goals[1][j]);
      const Rewards result = result_of(rest.paid(0), rest.paid(1), rest.lead(), rest.last_weight());
      results[i][j] = result;
      worst[0][i] = std::min(worst[0][i], result[0] - result[1]);
      worst[1][j] = std::min(worst[1][j], result[1] - result[0]);
    }
  Plan plan;
  int best[2];
  for (int p = 0; p < 2; ++p) {
    best[p] = static_cast<int>(std::max_element(worst[p], worst[p] + goals[p].count) - worst[p]);
    const Player& who = s.players[static_cast<std::size_t>(p)];
    for (int k = 0; k < goals[p].count; ++k) {
      if (worst[p][k] != worst[p][best[p]]) continue;
      const bool waits = who.mud > 0 || goals[p][k] == kNoGoal;
      plan.actions[static_cast<std::size_t>(p)] |= std::uint64_t{1} << (waits ? static_cast<unsigned>(kStay) : setup.ways.steps(who.cell)[goals[p][k]]);
    }
  }
  plan.values = results[best[0]][best[1]];
  return plan;
}

}  // namespace ramify
