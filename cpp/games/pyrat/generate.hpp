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
};

// Why no game can be made, or "". Says it before any game is drawn, so that no seed fails where another succeeds.
std::string obstacle(const Recipe& recipe);

Maze draw_maze(const Recipe& recipe, Rng rng);
// Two different cells, or the fixed ones.
Starts draw_starts(const Recipe& recipe, Rng rng);
// Ascending cells, none of them a start. The recipe must have no obstacle.
std::vector<int> draw_cheese(const Recipe& recipe, const Starts& starts, Rng rng);

}  // namespace ramify::pyrat
