// How many turns it takes to get to each piece of cheese, for the greedy player.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "games/pyrat/maze.hpp"

namespace ramify::pyrat {

// Computed when first asked for: only few users of a game need it.
class Paths {
 public:
  static constexpr std::uint16_t kNever = 0xffff;

  // Turns from each cell to the piece at `pieces[k]`, waiting in mud included; [piece][cell], kNever where there is no way.
  const std::uint16_t* to(const Maze& maze, const std::vector<std::uint16_t>& pieces, int piece) const {
    std::call_once(once_, [&] { measure(maze, pieces); });
    return turns_.data() + static_cast<std::size_t>(piece) * static_cast<std::size_t>(maze.cells());
  }

 private:
  void measure(const Maze& maze, const std::vector<std::uint16_t>& pieces) const;

  mutable std::once_flag once_;
  mutable std::vector<std::uint16_t> turns_;
};

}  // namespace ramify::pyrat
