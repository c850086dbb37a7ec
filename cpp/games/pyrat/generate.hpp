// Random games: a maze, two starts and cheese, each a pure function of its parameters and random stream.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "games/pyrat/maze.hpp"

namespace ramify::pyrat {

using Starts = std::array<int, 2>;  // cells of player 0 and player 1

struct Recipe {
  int width, height;
  int cheese;
  int max_turns;
  double wall_density, mud_density;  // of edges that stay closed at first; of opened edges that get mud
  int mud_max;                       // mud is uniform in 2 .. mud_max
  bool symmetric;                    // maze and cheese equal their half turn
  bool connected;                    // every cell can be reached from every other
  std::optional<Starts> starts;      // none: drawn for each game
  std::optional<double> imbalance;   // of drawn starts: how much nearer, in turns per piece, one player may be to the cheese
};

struct Placement {
  Starts starts;
  std::vector<int> cheese;  // ascending cells, none of them a start
};

// Why no game can be made, or "". Says it before any game is drawn, so that no seed fails where another succeeds.
std::string obstacle(const Recipe& recipe);

Maze draw_maze(const Recipe& recipe, Rng rng);
// The fixed starts or two different cells, and cheese. With an imbalance, pairs of starts are drawn until one keeps to it;
// if none of a hundred does, the most balanced of them is taken. The recipe must have no obstacle.
Placement draw_placement(const Recipe& recipe, const Maze& maze, Rng starts, Rng cheese);
// The turns from a cell to every other: mud of N turns takes N + 1. Cells out of reach count as a way through all cells.
std::vector<int> turns_from(const Maze& maze, int start);

}  // namespace ramify::pyrat
