#include "games/pyrat/maze.hpp"

namespace ramify::pyrat {

void Maze::set(Edge edge, Passage passage) {
  passages_[static_cast<std::size_t>(edge.direction * cells() + edge.cell)] = passage;
  const int far = neighbour(edge.cell, edge.direction);
  passages_[static_cast<std::size_t>(opposite(edge.direction) * cells() + far)] = passage;
}

Key Maze::key() const {
  Key key = combine(static_cast<Key>(width_), static_cast<Key>(height_));
  Key word = 0;
  int bytes = 0;
  const Passage* end = row(kRight) + cells();  // the rows kUp and kRight name every edge once
  for (const Passage* passage = row(kUp); passage != end; ++passage) {
    word = word << 8 | *passage;
    if (++bytes % 8 == 0) key = combine(key, word);
  }
  return combine(key, word);
}

}  // namespace ramify::pyrat
