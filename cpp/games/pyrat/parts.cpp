// PyRat positions as plain data, in the form of the reference engine's traces, and back.
#include "games/pyrat/parts.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "games/board.hpp"
#include "games/pyrat/pyrat.hpp"

namespace ramify {
namespace pyrat {

std::optional<int> listed_cell(const Value& value, int width, int height) {
  const auto* list = std::get_if<Value::List>(&value.data);
  if (!list || list->size() != 2) return std::nullopt;
  const auto* x = std::get_if<std::int64_t>(&list->at(0).data);
  const auto* y = std::get_if<std::int64_t>(&list->at(1).data);
  if (!x || !y || *x < 0 || *x >= width || *y < 0 || *y >= height) return std::nullopt;
  return static_cast<int>(*y * width + *x);
}

}  // namespace pyrat

using namespace pyrat;

namespace {

// Reads the parts of one position; every complaint names the part and what would be right.
class Reader {
 public:
  Reader(const Value::Dict& parts, const Recipe& recipe) : parts_(parts), recipe_(recipe) {
    for (const auto& [side, size] : {std::pair{"width", recipe.width}, std::pair{"height", recipe.height}})
      if (const Value* given = find(side); given && *given != Value(size))
        fail(side, *given, std::to_string(size) + " as in the game");
  }

  Maze maze() const {
    Maze maze(recipe_.width, recipe_.height);
    for (int cell = 0; cell < maze.cells(); ++cell)
      for (int direction : {kUp, kRight})
        if (maze.has_neighbour(cell, direction)) maze.set({cell, direction}, kOpen);
    each_edge("walls", 2, [&](Edge edge, const Value::List&) { maze.set(edge, kWall); });
    each_edge("mud", 3, [&](Edge edge, const Value::List& entry) {
      const auto* turns = std::get_if<std::int64_t>(&entry[2].data);
      if (!turns || *turns < 2 || *turns > kMaxMud)
        fail("mud", entry[2], "a whole number of turns from 2 to " + std::to_string(kMaxMud));
      if (maze.at(edge.cell, edge.direction) != kWall) maze.set(edge, static_cast<Passage>(*turns));  // a wall wins
    });
    return maze;
  }

  std::vector<int> cheese() const {
    std::vector<int> cells;
    const Value* given = find("cheese");
    if (!given) throw InvalidInput("pyrat: a position needs its cheese: a list of cells [[x, y], ...]");
    for (const Value& entry : list("cheese", *given)) cells.push_back(cell("cheese", entry));
    std::ranges::sort(cells);
    if (const auto twice = std::ranges::adjacent_find(cells); twice != cells.end())
      throw InvalidInput("pyrat: cheese lists the cell " + describe(show_cell(*twice)) + " twice");
    return cells;
  }

  std::array<Player, 2> players(int turn) const {
    std::array<Player, 2> both;
    for (std::size_t player = 0; player < 2; ++player) {
      const std::string number = std::to_string(player + 1);
      both[player].cell = static_cast<std::uint16_t>(start(player));
      both[player].mud = static_cast<std::uint8_t>(integer("mud" + number, 0, 0, kMaxMud));
      both[player].misses = static_cast<std::uint16_t>(integer("misses" + number, 0, 0, turn));
      both[player].score = static_cast<std::uint16_t>(half_points("score" + number));
    }
    if ((both[0].score + both[1].score) % 2 != 0)
      throw InvalidInput("pyrat: score1 + score2 must be whole: a shared piece gives half a point to each player");
    return both;
  }

  int integer(const std::string& name, int fallback, int low, int high) const {
    const Value* given = find(name);
    if (!given) return fallback;
    const auto* number = std::get_if<std::int64_t>(&given->data);
    if (!number || *number < low || *number > high)
      fail(name, *given, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    return static_cast<int>(*number);
  }

  void check_total(std::size_t left, const std::array<Player, 2>& players) const {
    const int total = static_cast<int>(left) + (players[0].score + players[1].score) / 2;
    if (total > kMaxCheese)
      throw InvalidInput("pyrat: a game has at most " + std::to_string(kMaxCheese) + " cheese, left and taken, not " +
                         std::to_string(total));
    if (const Value* given = find("total"); given && integer("total", 0, 0, kMaxCheese) != total)
      fail("total", *given, std::to_string(total) + ", the cheese left and the points scored");
  }

 private:
  const Value* find(std::string_view name) const {
    return part(parts_, name,
                {"width", "height", "walls", "mud", "cheese", "p1", "p2", "max_turns", "turn", "mud1", "mud2", "score1",
                 "score2", "misses1", "misses2", "total"},
                PyRat::name);
  }

  [[noreturn]] static void fail(const std::string& name, const Value& got, const std::string& wanted) {
    throw InvalidInput("pyrat: " + name + " must be " + wanted + ", not " + describe(got));
  }

  Value show_cell(int cell) const { return Value::List{cell % recipe_.width, cell / recipe_.width}; }

  static const Value::List& list(std::string_view name, const Value& given) {
    const auto* items = std::get_if<Value::List>(&given.data);
    if (!items) fail(std::string(name), given, "a list");
    return *items;
  }

  int cell(const std::string& name, const Value& given) const {
    const std::optional<int> cell = listed_cell(given, recipe_.width, recipe_.height);
    if (!cell)
      fail(name, given, "made of cells [x, y] with x from 0 to " + std::to_string(recipe_.width - 1) +
                            " and y from 0 to " + std::to_string(recipe_.height - 1));
    return *cell;
  }

  int start(std::size_t player) const {
    const std::string name = "p" + std::to_string(player + 1);
    if (const Value* given = find(name)) return cell(name, *given);
    if (!recipe_.starts) throw InvalidInput("pyrat: a position needs " + name + ", as starts are drawn for each game");
    return (*recipe_.starts)[player];
  }

  int half_points(const std::string& name) const {
    const Value* given = find(name);
    if (!given) return 0;
    double points = -1;
    if (const auto* whole = std::get_if<std::int64_t>(&given->data)) points = static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&given->data)) points = *real;
    if (!(points >= 0 && points <= kMaxCheese) || std::floor(2 * points) != 2 * points)
      fail(name, *given, "a multiple of 0.5 from 0 to " + std::to_string(kMaxCheese));
    return static_cast<int>(2 * points);
  }

  // Visits a list whose entries begin with two neighbouring cells, no pair of them twice.
  template <class Visit>
  void each_edge(const std::string& name, std::size_t length, Visit visit) const {
    const Value* given = find(name);
    if (!given) return;
    const std::string form = length == 2 ? "[[x, y], [x, y]]" : "[[x, y], [x, y], turns]";
    std::vector<bool> seen(static_cast<std::size_t>(2 * recipe_.width * recipe_.height));
    for (const Value& entry : list(name, *given)) {
      const auto* items = std::get_if<Value::List>(&entry.data);
      if (!items || items->size() != length) fail(name, entry, "a list of " + form);
      const auto [low, high] = std::minmax({cell(name, items->at(0)), cell(name, items->at(1))});
      const bool beside = high == low + 1 && high % recipe_.width != 0;
      if (!beside && high != low + recipe_.width) fail(name, entry, "between neighbouring cells");
      const auto id = static_cast<std::size_t>(2 * low + beside);
      if (seen[id]) throw InvalidInput("pyrat: " + name + " lists the edge of " + describe(entry) + " twice");
      seen[id] = true;
      visit(Edge{low, beside ? kRight : kUp}, *items);
    }
  }

  const Value::Dict& parts_;
  const Recipe& recipe_;
};

Value::List show_cell(const Maze& maze, int cell) { return {maze.x(cell), maze.y(cell)}; }

}  // namespace

PyRat::State PyRat::parse(const Value::Dict& parts) const {
  const Reader reader(parts, recipe_);
  const int max_turns = reader.integer("max_turns", recipe_.max_turns, 1, kMaxTurns);
  const int turn = reader.integer("turn", 0, 0, max_turns);
  const std::array<Player, 2> players = reader.players(turn);
  const std::vector<int> cheese = reader.cheese();
  reader.check_total(cheese.size(), players);
  return assemble(reader.maze(), cheese, players, turn, max_turns);
}

Value::Dict PyRat::fields(const State& s) const {
  const Maze& maze = s.setup->maze;
  Value::List walls, mud, cheese;
  for (int cell = 0; cell < maze.cells(); ++cell)
    for (int direction : {kUp, kRight}) {
      if (!maze.has_neighbour(cell, direction)) continue;
      const Passage passage = maze.at(cell, direction);
      Value::List entry{show_cell(maze, cell), show_cell(maze, maze.neighbour(cell, direction))};
      if (passage == kWall) walls.emplace_back(std::move(entry));
      else if (passage != kOpen) mud.emplace_back((entry.emplace_back(int{passage}), std::move(entry)));
    }
  for (std::size_t piece = 0; piece < s.setup->pieces.size(); ++piece)
    if (s.has(static_cast<int>(piece))) cheese.emplace_back(show_cell(maze, s.setup->pieces[piece]));

  const auto& [a, b] = s.players;
  return {{"width", maze.width()},         {"height", maze.height()},
          {"walls", std::move(walls)},     {"mud", std::move(mud)},
          {"cheese", std::move(cheese)},   {"total", s.setup->total},
          {"turn", int{s.turn}},           {"max_turns", s.setup->max_turns},
          {"p1", show_cell(maze, a.cell)}, {"p2", show_cell(maze, b.cell)},
          {"mud1", int{a.mud}},            {"mud2", int{b.mud}},
          {"score1", a.score / 2.0},       {"score2", b.score / 2.0},
          {"misses1", int{a.misses}},      {"misses2", int{b.misses}}};
}

}  // namespace ramify
