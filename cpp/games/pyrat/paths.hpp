// How many turns it takes to get to each piece of cheese, for the greedy player and for observations.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "games/pyrat/maze.hpp"

namespace ramify::pyrat {

// Computed when first asked for: a game that is only searched does not need it.
class Paths {
 public:
  static constexpr std::uint16_t kNever = 0xffff;

  // Of all pieces, [piece][cell].
  struct Table {
    const std::uint16_t* turns;  // from each cell, waiting in mud included; kNever where there is no way
    const float* closeness;      // 1 / (1 + turns) in steps of 1/1024: sums of these are exact in any order
  };
  Table table(const Maze& maze, const std::vector<std::uint16_t>& pieces) const {
    std::call_once(once_, [&] { measure(maze, pieces); });
    return {turns_.data(), closeness_.data()};
  }
  // Turns from each cell to the piece at `pieces[k]`.
  const std::uint16_t* to(const Maze& maze, const std::vector<std::uint16_t>& pieces, int piece) const {
    return table(maze, pieces).turns + offset(maze, piece);
  }

 private:
  static std::size_t offset(const Maze& maze, int piece) {
    return static_cast<std::size_t>(piece) * static_cast<std::size_t>(maze.cells());
  }
  void measure(const Maze& maze, const std::vector<std::uint16_t>& pieces) const;

  mutable std::once_flag once_;
  mutable std::vector<std::uint16_t> turns_;
  mutable std::vector<float> closeness_;
};

}  // namespace ramify::pyrat
