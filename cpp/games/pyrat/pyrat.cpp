#include "games/pyrat/pyrat.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "games/pyrat/parts.hpp"

namespace ramify {

using namespace pyrat;

namespace {

// Streams of one seed: changing how one part is drawn leaves the others as they were.
enum Stream : std::uint64_t { kMazeStream, kStartStream, kCheeseStream };

constexpr float kMudUnit = 4.0f;
constexpr float kCheeseUnit = 64.0f;
constexpr float kTurnUnit = 64.0f;
constexpr float kPathUnit = 16.0f;
constexpr float kFarthest = 4.0f;  // in units of kPathUnit

constexpr double kImbalance = 1.0;  // of starts='imbalanced'

std::optional<double> number_in(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value.data)) return *real;
  return std::nullopt;
}

// The imbalance that 'imbalanced' or ['imbalanced', turns] stands for, if it is one of these.
std::optional<double> read_imbalance(const Value& given) {
  const auto* list = std::get_if<Value::List>(&given.data);
  if (list && list->size() != 2) return std::nullopt;
  const auto* word = std::get_if<std::string>(&(list ? list->at(0) : given).data);
  if (!word || *word != "imbalanced") return std::nullopt;
  const std::optional<double> turns = list ? number_in(list->at(1)) : kImbalance;
  return turns && *turns >= 0 ? turns : std::nullopt;
}

void read_starts(Params& params, Recipe& recipe) {
  const int width = recipe.width, height = recipe.height;
  const Value given = params.any("starts", "corners",
                                 "where the players start: 'corners' (bottom left, top right), 'random' (two different "
                                 "cells), 'imbalanced' or ['imbalanced', turns] (two cells of which one is nearer to the "
                                 "cheese by at most so many turns per piece on average, 1 by default) or two cells "
                                 "[[x, y], [x, y]]");
  const auto* word = std::get_if<std::string>(&given.data);
  recipe.imbalance = read_imbalance(given);
  if ((word && *word == "random") || recipe.imbalance) return;
  if (word && *word == "corners") {
    recipe.starts = Starts{0, width * height - 1};
    return;
  }
  if (const auto* list = std::get_if<Value::List>(&given.data); list && list->size() == 2) {
    const std::optional<int> first = listed_cell(list->at(0), width, height);
    const std::optional<int> second = listed_cell(list->at(1), width, height);
    if (first && second) {
      recipe.starts = Starts{*first, *second};
      return;
    }
  }
  params.fail("starts", given,
              "'corners', 'random', 'imbalanced', ['imbalanced', turns] with turns from 0, or two cells "
              "[[x, y], [x, y]] on the " + std::to_string(width) + "x" + std::to_string(height) + " board");
}

Recipe read_recipe(Params& params) {
  Recipe recipe{};
  recipe.width = static_cast<int>(params.integer("width", 21, 2, kMaxSide, "cells from left to right"));
  recipe.height = static_cast<int>(params.integer("height", 15, 2, kMaxSide, "cells from bottom to top"));
  recipe.cheese = static_cast<int>(params.integer("cheese", 41, 0, kMaxCheese, "pieces of cheese in a random game"));
  recipe.max_turns = static_cast<int>(params.integer("max_turns", 300, 1, kMaxTurns, "maximum number of turns"));
  recipe.wall_density = params.real("wall_density", 0.7, 0.0, 1.0, "fraction of edges with a wall before the maze is made connected");
  recipe.mud_density = params.real("mud_density", 0.1, 0.0, 1.0, "probability of mud each time an edge is opened");
  recipe.mud_max = static_cast<int>(params.integer("mud_max", 3, 2, kMaxMud, "maximum number of turns in mud (the minimum is 2)"));
  recipe.symmetric = params.flag("symmetric", true, "whether maze and cheese are symmetric under a half turn");
  recipe.connected = params.flag("connected", true, "whether every cell can be reached from every other");
  read_starts(params, recipe);
  return recipe;
}

Reward read_reward(Params& params) {
  const std::string word = params.choice("reward", "cheese", {"cheese", "difference", "win"},
                                         "reward: cheese gained per turn, cheese gained minus the other player's, or "
                                         "1, -1 or 0 at the end");
  return word == "cheese" ? Reward::kCheese : word == "difference" ? Reward::kDifference : Reward::kWin;
}

std::vector<Step> steps_of(const Maze& maze) {
  std::vector<Step> steps;
  steps.reserve(static_cast<std::size_t>(maze.cells() * kActions));
  for (int cell = 0; cell < maze.cells(); ++cell)
    for (int action = 0; action < kActions; ++action) {
      const Passage passage = maze.at(cell, action);
      const int next = passage == kWall ? cell : maze.neighbour(cell, action);
      steps.push_back({static_cast<std::uint16_t>(next), passage > kOpen ? passage : std::uint8_t{0}});
    }
  return steps;
}

Rewards winner(const State& s) {
  const int first = s.players[0].score, second = s.players[1].score;
  const auto sign = static_cast<float>((first > second) - (first < second));
  return {sign, -sign};
}

}  // namespace

PyRat::PyRat(Params& params)
    : recipe_(read_recipe(params)),
      reward_(read_reward(params)),
      obstacle_(obstacle(recipe_)) {}

PyRat::State PyRat::initial(std::uint64_t seed) const {
  if (!obstacle_.empty()) throw InvalidInput("pyrat: " + obstacle_);
  Maze maze = draw_maze(recipe_, Rng(seed, kMazeStream));
  const Placement placement = draw_placement(recipe_, maze, Rng(seed, kStartStream), Rng(seed, kCheeseStream));
  std::array<Player, 2> players;
  for (std::size_t player = 0; player < 2; ++player)
    players[player].cell = static_cast<std::uint16_t>(placement.starts[player]);
  return assemble(std::move(maze), placement.cheese, players, 0, recipe_.max_turns);
}

PyRat::State PyRat::assemble(Maze maze, const std::vector<int>& cheese, std::array<Player, 2> players, int turn,
                             int max_turns) const {
  const int total = static_cast<int>(cheese.size()) + (players[0].score + players[1].score) / 2;
  const std::shared_ptr<Setup> setup(new Setup{std::move(maze), max_turns, total, {}, {}, hash_text(name), {}});
  setup->images = images_of(setup->maze);
  setup->steps = steps_of(setup->maze);
  for (const Key part : {setup->maze.key(), static_cast<Key>(max_turns), static_cast<Key>(reward_)})
    setup->key = combine(setup->key, part);
  setup->pieces.assign(cheese.begin(), cheese.end());
  setup->piece_at.assign(static_cast<std::size_t>(setup->maze.cells()), kNoPiece);

  State s;
  for (std::size_t piece = 0; piece < cheese.size(); ++piece) {
    setup->piece_at[static_cast<std::size_t>(cheese[piece])] = static_cast<std::uint16_t>(piece);
    s.cheese[piece / 64] |= std::uint64_t{1} << piece % 64;
    s.cheese_key ^= zobrist(kCheese, static_cast<Key>(cheese[piece]));
  }
  s.setup = setup;
  s.players = players;
  s.left = static_cast<std::uint16_t>(cheese.size());
  s.turn = static_cast<std::uint16_t>(turn);
  s.over = is_over(s);
  return s;
}

int PyRat::outcomes(const State& s, int player, Action* out, std::int16_t* index) const {
  if (s.over) {
    if (index) std::fill(index, index + kActions, std::int16_t{-1});
    return 0;
  }
  const Player& who = s.players[static_cast<std::size_t>(player)];
  int count = 0;
  std::array<std::int16_t, kActions> outcome;
  for (Action action = 0; action < kDirections; ++action) {
    const bool moves = who.mud == 0 && s.setup->maze.at(who.cell, action) != kWall;
    outcome[static_cast<std::size_t>(action)] = moves ? static_cast<std::int16_t>(count) : std::int16_t{-1};
    if (moves) out[count++] = action;
  }
  out[count] = kStay;
  if (index)
    for (std::size_t action = 0; action < kActions; ++action)
      index[action] = action == kStay || outcome[action] < 0 ? static_cast<std::int16_t>(count) : outcome[action];
  return count + 1;
}

int PyRat::greedy(const State& s, int player, Action* steps) const {
  const Setup& setup = *s.setup;
  const Player& who = s.players[static_cast<std::size_t>(player)];
  int nearest = Paths::kNever;
  unsigned good = 0;  // bit per direction
  for (std::size_t word = 0; who.mud == 0 && word * 64 < setup.pieces.size(); ++word)
    for (std::uint64_t left = s.cheese[word]; left; left &= left - 1) {
      const int piece = static_cast<int>(word) * 64 + std::countr_zero(left);
      const std::uint16_t* const turns = setup.paths.to(setup.maze, setup.pieces, piece);
      const int far = turns[who.cell];
      if (far > nearest || far == Paths::kNever) continue;
      if (far < nearest) good = 0;
      nearest = far;
      for (Action action = 0; action < kDirections; ++action) {
        const Passage passage = setup.maze.at(who.cell, action);
        if (passage == kWall || turns[setup.maze.neighbour(who.cell, action)] + turns_through(passage) != far) continue;
        good |= 1u << action;
      }
    }
  if (good == 0) good = 1u << kStay;
  int count = 0;
  for (Action action = 0; action < kActions; ++action)
    if (good >> action & 1) steps[count++] = action;
  return count;
}

int PyRat::within_reach(const State& s, int player) {
  const Setup& setup = *s.setup;
  const Player& who = s.players[static_cast<std::size_t>(player)];
  const int turns = setup.max_turns - s.turn - who.mud;  // in which the player moves
  int nearest = Paths::kNever, count = 0;
  for (std::size_t word = 0; word * 64 < setup.pieces.size(); ++word)
    for (std::uint64_t left = s.cheese[word]; left; left &= left - 1) {
      const int piece = static_cast<int>(word) * 64 + std::countr_zero(left);
      const int far = setup.paths.to(setup.maze, setup.pieces, piece)[who.cell];
      if (far > turns || far == Paths::kNever) continue;
      nearest = std::min(nearest, far);
      ++count;
    }
  return count == 0 ? 0 : std::min(count, turns - nearest + 1);  // one piece a turn from the nearest on
}

namespace {

// The most half points by pieces that a player reaches before the other, or at the same time, one after the other. The
// search is cut after a number of steps: what it has found by then can be had as well.
class Race {
 public:
  Race(const State& s, int player) : setup_(*s.setup), turns_(s.setup->max_turns - s.turn) {
    const Player& other = s.players[static_cast<std::size_t>(1 - player)];
    for (std::size_t word = 0; word * 64 < setup_.pieces.size(); ++word)
      for (std::uint64_t left = s.cheese[word]; left && count_ < kMost; left &= left - 1) {
        const int piece = static_cast<int>(word) * 64 + std::countr_zero(left);
        const std::uint16_t* const to = setup_.paths.to(setup_.maze, setup_.pieces, piece);
        pieces_[count_++] = {to, setup_.pieces[static_cast<std::size_t>(piece)], other.mud + to[other.cell]};
      }
    const Player& own = s.players[static_cast<std::size_t>(player)];
    run(own.cell, own.mud, 0, 0);
  }
  int best() const { return best_; }

 private:
  static constexpr int kMost = 16, kSteps = 200;
  struct Piece {
    const std::uint16_t* to;
    int cell, other;  // the turn in which the other player is there at the earliest
  };

  void run(int cell, int turn, unsigned taken, int gained) {
    best_ = std::max(best_, gained);
    for (int k = 0; k < count_; ++k) {
      const Piece& piece = pieces_[static_cast<std::size_t>(k)];
      const int there = turn + piece.to[cell];
      if (taken >> k & 1 || there > turns_ || there > piece.other || piece.to[cell] == Paths::kNever) continue;
      if (++steps_ > kSteps) return;
      run(piece.cell, there, taken | 1u << k, gained + (there < piece.other ? 2 : 1));
    }
  }

  const Setup& setup_;
  int turns_, count_ = 0, steps_ = 0, best_ = 0;
  std::array<Piece, kMost> pieces_;
};

}  // namespace

// A majority ends the game: one's own after the gain that it takes, and where the other might have one, nothing is sure.
float PyRat::secured(const State& s, int player, float others) const {
  const int gain = Race(s, player).best(), total = s.setup->total;
  const int other = std::min(static_cast<int>(2 * others), 2 * s.left - gain);
  if (s.players[static_cast<std::size_t>(1 - player)].score + other > total) return -HUGE_VALF;
  const int own = std::min(gain, total + 1 - s.players[static_cast<std::size_t>(player)].score);
  return static_cast<float>(reward_ == Reward::kCheese ? own : own - other) / 2;
}

namespace {

// A player on its random way, and whether it stands on cheese, out of the mud.
struct Walker {
  unsigned cell, mud;

  explicit Walker(const Player& player) : cell(player.cell), mud(player.mud) {}
  // Without branches: what is drawn cannot be predicted.
  bool walk(const Setup& setup, const std::uint64_t* cheese, unsigned action) {
    const Step step = setup.steps[cell * kActions + action];
    cell = mud == 0 ? step.cell : cell;
    mud = mud == 0 ? step.mud : mud - 1;
    const unsigned piece = setup.piece_at[cell];
    return static_cast<unsigned>(cheese[piece >> 6] >> (piece & 63)) & static_cast<unsigned>(mud == 0) & 1u;
  }
  void write(Player& player) const {
    player.cell = static_cast<std::uint16_t>(cell);
    player.mud = static_cast<std::uint8_t>(mud);
  }
};

}  // namespace

// The turns without a change of cell (misses) are not counted: they are no part of the future.
Rewards PyRat::play_randomly(State& s, Rng& given, int most, int& turns) const {
  const Setup& setup = *s.setup;
  const int first = s.turn, last = std::min(setup.max_turns, first + most);
  std::array<std::uint64_t, kMaxCheese / 64 + 1> cheese;
  std::copy(s.cheese.begin(), s.cheese.end(), cheese.begin());
  cheese.back() = 0;
  Walker a(s.players[0]), b(s.players[1]);
  std::array<int, 2> gained{0, 0};
  Rng rng = given;
  int turn = first;
  while (turn < last) {
    ++turn;
    const bool first_finds = a.walk(setup, cheese.data(), rng.below(kActions));
    const bool second_finds = b.walk(setup, cheese.data(), rng.below(kActions));
    if (!(first_finds | second_finds)) continue;
    a.write(s.players[0]), b.write(s.players[1]);
    const std::array<int, 2> now = gather(s);
    for (std::size_t p = 0; p < 2; ++p) {
      gained[p] += now[p];
      s.players[p].score = static_cast<std::uint16_t>(s.players[p].score + now[p]);
    }
    std::copy(s.cheese.begin(), s.cheese.end(), cheese.begin());
    if (is_over(s)) break;
  }
  a.write(s.players[0]), b.write(s.players[1]);
  given = rng;
  turns += turn - first;
  s.turn = static_cast<std::uint16_t>(turn);
  s.over = is_over(s);
  return reward(s, gained);
}

Rewards PyRat::reward(const State& s, const std::array<int, 2>& gained) const {
  const float first = static_cast<float>(gained[0]) / 2, second = static_cast<float>(gained[1]) / 2;
  switch (reward_) {
    case Reward::kCheese: return {first, second};
    case Reward::kDifference: return {first - second, second - first};
    default: return s.over ? winner(s) : Rewards{0.0f, 0.0f};
  }
}

Rewards PyRat::returns(const State& s) const { return reward(s, {s.players[0].score, s.players[1].score}); }

void PyRat::observe(const State& s, int player, float* out) const {
  const Setup& setup = *s.setup;
  const Maze& maze = setup.maze;
  const auto cells = static_cast<std::size_t>(maze.cells());
  const Player& own = s.players[static_cast<std::size_t>(player)];
  const Player& other = s.players[static_cast<std::size_t>(1 - player)];

  std::fill(out, out + 3 * cells, 0.0f);
  out[own.cell] = 1.0f;
  out[cells + other.cell] = 1.0f;
  for (std::size_t piece = 0; piece < setup.pieces.size(); ++piece)
    if (s.has(static_cast<int>(piece))) out[2 * cells + setup.pieces[piece]] = 1.0f;

  float* blocked = out + 3 * cells;
  float* mud = blocked + kDirections * cells;
  const Passage* passages = maze.row(kUp);  // the four directions lie one after another
  // Two loops without branches: the compiler turns them into vector code, a third of the cost.
  for (std::size_t i = 0; i < kDirections * cells; ++i) blocked[i] = static_cast<float>(passages[i] == kWall);
  for (std::size_t i = 0; i < kDirections * cells; ++i)
    mud[i] = static_cast<float>(passages[i] * (passages[i] > kOpen)) * (1.0f / kMudUnit);

  const float points = static_cast<float>(2 * std::max(setup.total, 1));
  const float turns = static_cast<float>(setup.max_turns - s.turn);
  const std::array<float, 7> numbers{static_cast<float>(own.mud) / kMudUnit,
                                     static_cast<float>(other.mud) / kMudUnit,
                                     static_cast<float>(own.score) / points,
                                     static_cast<float>(other.score) / points,
                                     static_cast<float>(s.left) / kCheeseUnit,
                                     turns / static_cast<float>(setup.max_turns),
                                     turns / kTurnUnit};
  float* plane = mud + kDirections * cells;
  for (const float number : numbers) plane = std::fill_n(plane, cells, number);
  observe_paths(s, own, other, plane);
}

// A shortest way through a maze takes many layers of a network to find, and here only a look into a table.
void PyRat::observe_paths(const State& s, const Player& own, const Player& other, float* out) const {
  const Setup& setup = *s.setup;
  const auto cells = static_cast<std::size_t>(setup.maze.cells());
  float* const nearest = std::fill_n(out, 5 * cells, 0.0f);
  std::fill_n(nearest, cells, kFarthest);
  const auto scaled = [](int turns) { return std::min(static_cast<float>(turns) / kPathUnit, kFarthest); };
  const Paths::Table paths = setup.paths.table(setup.maze, setup.pieces);
  for (std::size_t piece = 0; piece < setup.pieces.size(); ++piece) {
    if (!s.has(static_cast<int>(piece))) continue;
    const std::uint16_t* const turns = paths.turns + piece * cells;
    const float* const closeness = paths.closeness + piece * cells;
    const int mine = turns[own.cell] + own.mud, theirs = turns[other.cell] + other.mud;
    out[setup.pieces[piece]] = scaled(mine);
    out[cells + setup.pieces[piece]] = scaled(theirs);
    float* const sum = out + static_cast<std::size_t>(mine < theirs ? 2 : mine > theirs ? 3 : 4) * cells;
    for (std::size_t cell = 0; cell < cells; ++cell) sum[cell] += closeness[cell];
    for (std::size_t cell = 0; cell < cells; ++cell)
      nearest[cell] = std::min(nearest[cell], static_cast<float>(turns[cell]) * (1.0f / kPathUnit));
  }
}

}  // namespace ramify
