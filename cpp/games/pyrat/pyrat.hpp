// PyRat: two players gather cheese in a maze, both moving at once. Actions: UP 0, RIGHT 1, DOWN 2, LEFT 3, STAY 4.
//
// One turn: a player stuck in mud only waits; another who meets an open edge moves along it, at once, and then stands in
// the mud of that edge for as many turns as it has; walls and the border turn a move into STAY. After both have moved,
// each player out of the mud takes the cheese of its cell, half each when both stand there. The game ends when a player
// has more than half of all cheese, when none is left, or after max_turns.
//
// Everything that never changes during a game (the maze above all) is shared between its states; what changes is a
// small value. Scores are kept in half points.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fetch.hpp"
#include "games/pyrat/generate.hpp"
#include "games/pyrat/maze.hpp"
#include "games/pyrat/paths.hpp"
#include "games/pyrat/plan.hpp"
#include "games/rules.hpp"

namespace ramify {
namespace pyrat {

constexpr int kMaxCheese = 512;
constexpr int kMaxTurns = 65535;
constexpr std::uint16_t kNoPiece = kMaxCheese;  // so that one more word of bits, all 0, has it

enum class Reward { kCheese, kDifference, kWin };

// A symmetry that maps the maze onto itself.
struct Image {
  int symmetry;
  bool moves;  // cells change; else the players alone
  bool swaps;  // the players change places
  std::vector<std::uint16_t> cell;  // the image of every cell
};

// Where an action of a player out of the mud leads.
struct Step {
  std::uint16_t cell;
  std::uint8_t mud;
};

// What stays the same through one game.
struct Setup {
  Maze maze;
  int max_turns;
  int total;                            // cheese at the start, which the majority is counted from
  std::vector<std::uint16_t> pieces;    // the cell of every piece that a state of this game can hold, ascending
  std::vector<std::uint16_t> piece_at;  // the piece of every cell, or kNoPiece
  Key key;                              // of maze, max_turns and rewards; the total follows from cheese and scores
  std::vector<Image> images;            // symmetries of the maze, without the identity
  Paths paths{};                        // to the pieces
  std::vector<Step> steps{};            // [cell][action]
  Ways ways{};                          // the same, for the planner
};

struct Player {
  std::uint16_t cell = 0;
  std::uint16_t score = 0;   // half points
  std::uint16_t misses = 0;  // turns without a change of cell: a statistic, no part of the future
  std::uint8_t mud = 0;      // turns still to be waited
};

struct State {
  std::shared_ptr<const Setup> setup;
  std::array<Player, 2> players;
  std::array<std::uint64_t, kMaxCheese / 64> cheese{};  // bit per piece of the setup that is left
  Key cheese_key = 0;                                   // of the cells with cheese, kept up to date
  std::uint16_t left = 0;                               // pieces left
  std::uint16_t turn = 0;
  bool over = false;

  bool has(int piece) const { return cheese[static_cast<std::size_t>(piece >> 6)] >> (piece & 63) & 1; }
};

}  // namespace pyrat

class PyRat {
 public:
  static constexpr std::string_view name = "pyrat";
  static constexpr bool kBothAct = true;
  using State = pyrat::State;

  explicit PyRat(Params& params);

  int num_actions() const { return pyrat::kActions; }
  Shape observation_shape() const { return {kPlanes, recipe_.height, recipe_.width}; }
  bool simultaneous() const { return true; }

  // A random game; raises InvalidInput where the parameters allow none.
  State initial(std::uint64_t seed) const;

  Acting acting(const State& s) const { return s.over ? kOver : kBoth; }

  int actions(const State& s, int, Action* out) const {
    if (s.over) return 0;
    for (Action action = 0; action < pyrat::kActions; ++action) out[action] = action;
    return pyrat::kActions;
  }

  // Moves along open edges are outcomes of their own; everything else is STAY, as is every action of a stuck player.
  int outcomes(const State& s, int player, Action* out, std::int16_t* index) const;

  Rewards apply(State& s, Joint joint) const {
    for (int player = 0; player < 2; ++player) move(*s.setup, s.players[static_cast<std::size_t>(player)], joint[player]);
    const std::array<int, 2> gained = gather(s);
    for (std::size_t player = 0; player < 2; ++player)
      s.players[player].score = static_cast<std::uint16_t>(s.players[player].score + gained[player]);
    ++s.turn;
    s.over = is_over(s);
    return reward(s, gained);
  }

  // What is read of the setup at every turn, and where it lies.
  void fetch(const State& s, int step) const {
    const pyrat::Setup& setup = *s.setup;
    if (step == 0) return fetch_object(setup);
    fetch_bytes(setup.steps.data(), sizeof(pyrat::Step) * setup.steps.size());
    fetch_bytes(setup.piece_at.data(), 2 * setup.piece_at.size());
    __builtin_prefetch(setup.pieces.data());
  }

  Key key(const State& s) const {
    return key_of(s, s.players, s.cheese_key);
  }

  // The steps on shortest ways to the nearest cheese, ascending; STAY where there is none, or no choice.
  int greedy(const State& s, int player, Action* steps) const;

  // See games/pyrat/plan.hpp.
  Plan plan(const State& s, double discount) const;

  // Random turns, for rollouts: what the players do between two pieces of cheese stays in registers.
  Rewards play_randomly(State& s, Rng& rng, int most, int& turns) const;

  // Planes of [height][width]; row y of a plane is the y of its cells, so that the first row is the bottom of the maze.
  //   0      the viewer's cell                         1      the other player's cell
  //   2      cheese                                    3-6    no way UP, RIGHT, DOWN, LEFT (wall or border)
  //   7-10   mud on the edge UP, RIGHT, DOWN, LEFT     11,12  the viewer's and the other's turns in mud
  //   13,14  the viewer's and the other's score        15     cheese left
  //   16     turns left, as a share of max_turns       17     turns left
  // Cells and walls are 0 or 1; mud is in units of 4 turns, scores are shares of all cheese, cheese left is in units of
  // 64 pieces and the turns of plane 17 in units of 64. Planes 11 to 17 are constant. Of the ways to the pieces left:
  //   18,19  at each piece: turns that the viewer and the other need to get there, in units of 16, at most 4
  //   20-22  at each cell: how close it is, 1 / (1 + turns) summed over pieces, to those that the viewer, the other,
  //          or both at once can reach first
  //   23     at each cell: turns to the nearest piece, in units of 16, at most 4
  void observe(const State& s, int player, float* out) const;

  // The symmetries of the rectangle, first alone, then with the players changing places.
  std::vector<Symmetry> symmetries() const;
  State transform(const State& s, int k) const;
  // The least key among the images under symmetries of the maze, the exchange of the players included.
  std::pair<Key, int> canonical(const State& s) const;
  static constexpr bool kCanonicalExchanges = true;

  std::string action_name(const State&, int, Action action) const;
  std::string text(const State& s) const;
  Value::Dict fields(const State& s) const;
  State parse(const Value::Dict& parts) const;
  // What can still be won from here: cheese that a player cannot get to before the last turn is not among it.
  Stakes stakes(const State& s) const {
    if (reward_ == pyrat::Reward::kWin) return zero_sum_stakes(1.0f);
    const Rewards most{static_cast<float>(within_reach(s, 0)), static_cast<float>(within_reach(s, 1))};
    const bool own = reward_ == pyrat::Reward::kCheese;
    const Rewards least = own ? Rewards{0.0f, 0.0f} : Rewards{-most[1], -most[0]};
    return {least, most, !own, true, {secured(s, 0, most[1]), secured(s, 1, most[0])}};
  }
  // The scale of values.
  float remaining(const State& s) const { return reward_ == pyrat::Reward::kWin ? 1.0f : static_cast<float>(s.left); }
  // The rewards that a position with these scores has paid.
  Rewards returns(const State& s) const;

 private:
  static constexpr int kPlanes = 24;
  static constexpr Key kCheese = hash_text("pyrat cheese");

  // The key of a state in the same maze at the same turn.
  static Key key_of(const State& s, const std::array<pyrat::Player, 2>& players, Key cheese_key) {
    const auto& [a, b] = players;
    const Key where = a.cell | Key{b.cell} << 16 | Key{a.mud} << 32 | Key{b.mud} << 40 | Key{s.turn} << 48;
    return combine(combine(s.setup->key ^ cheese_key, where), a.score | Key{b.score} << 16);
  }
  // The state under a symmetry of its maze; false if cheese would lie where this game has none.
  static bool transform_within(State& s, const pyrat::Image& image);
  static std::vector<pyrat::Image> images_of(const pyrat::Maze& maze);

  // The state with that cheese (ascending cells) left; all cheese ever is what is left and what the scores tell.
  State assemble(pyrat::Maze maze, const std::vector<int>& cheese, std::array<pyrat::Player, 2> players, int turn,
                 int max_turns) const;

  // Without branches: a search that tries every action cannot guess them.
  static void move(const pyrat::Setup& setup, pyrat::Player& player, Action action) {
    const pyrat::Step step = setup.steps[player.cell * std::size_t{pyrat::kActions} + static_cast<std::size_t>(action)];
    const bool free = player.mud == 0;
    const std::uint16_t cell = free ? step.cell : player.cell;
    player.misses = static_cast<std::uint16_t>(player.misses + (cell == player.cell));
    player.cell = cell;
    player.mud = static_cast<std::uint8_t>(free ? step.mud : player.mud - 1);
  }

  // Half points that each player takes where they stand now.
  static std::array<int, 2> gather(State& s) {
    const auto& [a, b] = s.players;
    if (a.mud == 0 && b.mud == 0 && a.cell == b.cell) {
      const int half = take(s, a.cell);
      return {half, half};
    }
    return {a.mud == 0 ? 2 * take(s, a.cell) : 0, b.mud == 0 ? 2 * take(s, b.cell) : 0};
  }

  // Removes the cheese of a cell: 1 if there was some.
  static int take(State& s, int cell) {
    const std::uint16_t piece = s.setup->piece_at[static_cast<std::size_t>(cell)];
    if (piece == pyrat::kNoPiece || !s.has(piece)) return 0;
    s.cheese[piece >> 6] ^= std::uint64_t{1} << (piece & 63);
    s.cheese_key ^= zobrist(kCheese, static_cast<Key>(cell));
    --s.left;
    return 1;
  }

  static bool is_over(const State& s) {
    const pyrat::Setup& setup = *s.setup;
    return s.players[0].score > setup.total || s.players[1].score > setup.total ||  // half points against all: majority
           (s.left == 0 && setup.total > 0) || s.turn >= setup.max_turns;
  }

  Rewards reward(const State& s, const std::array<int, 2>& gained) const;
  // What a game has paid, from the pieces taken, the lead in half points at its end and the weight of its last turn.
  Rewards result_of(double first, double second, int lead, double last) const {
    const double won = (lead > 0) - (lead < 0);
    if (reward_ == pyrat::Reward::kCheese) return {static_cast<float>(first), static_cast<float>(second)};
    const auto gain = static_cast<float>(reward_ == pyrat::Reward::kDifference ? first - second : won * last);
    return {gain, -gain};
  }
  // At least as many pieces as a player can take before the last turn.
  static int within_reach(const State& s, int player);
  // What a player can make sure of by pieces that it gets to before the other can, who may take up to `others` pieces.
  float secured(const State& s, int player, float others) const;

  // The planes of `observe` that tell of ways to the cheese.
  void observe_paths(const State& s, const pyrat::Player& own, const pyrat::Player& other, float* out) const;

  pyrat::Recipe recipe_;
  pyrat::Reward reward_;
  std::string obstacle_;  // why no random game can be made, or ""
};

}  // namespace ramify
