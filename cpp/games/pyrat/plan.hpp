// The planner: what both players can get who choose well which piece of cheese to go for first.
//
// Each player has a few goals, the nearest pieces, those first that the other does not reach before. Of every pair of
// goals the rest of the game is played: both go there on shortest ways and take what lies there; a player whose goal is gone
// goes for the nearest piece left, until the game is over. Each chooses the goal whose worst result is the best.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "games/pyrat/maze.hpp"
#include "games/pyrat/paths.hpp"

namespace ramify::pyrat {

// The ways of Paths by cell, [cell][piece]; computed when first asked for.
class Ways {
 public:
  void prepare(const Maze& maze, const std::vector<std::uint16_t>& pieces, const Paths& paths) const {
    std::call_once(once_, [&] { measure(maze, pieces, paths); });
  }
  // Turns to each piece.
  const std::uint16_t* turns(unsigned cell) const { return turns_.data() + cell * count_; }
  // The first step of a shortest way to each piece, the lowest one of several; STAY where there is none.
  const std::uint8_t* steps(unsigned cell) const { return steps_.data() + cell * count_; }
  // The pieces from the nearest to the farthest, the lowest first of several, and how many can be reached at all.
  const std::uint16_t* nearest(unsigned cell) const { return nearest_.data() + cell * count_; }
  unsigned reached(unsigned cell) const { return reached_[cell]; }

 private:
  void measure(const Maze& maze, const std::vector<std::uint16_t>& pieces, const Paths& paths) const;
  void sort(std::size_t cell) const;

  mutable std::once_flag once_;
  mutable std::size_t count_ = 0;
  mutable std::vector<std::uint16_t> turns_, nearest_, reached_;
  mutable std::vector<std::uint8_t> steps_;
};

}  // namespace ramify::pyrat
