#include "games/pyrat/paths.hpp"

#include <cmath>
#include <functional>
#include <queue>
#include <utility>

namespace ramify::pyrat {

// Dijkstra's algorithm from every piece: edges take as long in both directions. Mud of N turns is entered in one turn and
// left after N more.
void Paths::measure(const Maze& maze, const std::vector<std::uint16_t>& pieces) const {
  const auto cells = static_cast<std::size_t>(maze.cells());
  turns_.assign(pieces.size() * cells, kNever);
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> queue;
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    std::uint16_t* const turns = turns_.data() + piece * cells;
    queue.emplace(0, pieces[piece]);
    while (!queue.empty()) {
      const auto [far, cell] = queue.top();
      queue.pop();
      if (turns[cell] != kNever) continue;
      turns[cell] = static_cast<std::uint16_t>(far);
      for (int direction = 0; direction < kDirections; ++direction) {
        const Passage passage = maze.at(cell, direction);
        if (passage == kWall) continue;
        const int next = maze.neighbour(cell, direction);
        if (turns[next] == kNever) queue.emplace(far + turns_through(passage), next);
      }
    }
  }
  closeness_.reserve(turns_.size());
  for (const std::uint16_t turns : turns_)
    closeness_.push_back(turns == kNever ? 0.0f : std::round(1024.0f / (1.0f + static_cast<float>(turns))) / 1024.0f);
}

}  // namespace ramify::pyrat
