// The maze of one PyRat game: which edges between cells are open, and how much mud lies on them.
//
// Cells are numbered y * width + x; x grows to the right and y grows upward, so cell 0 is the bottom-left corner.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.hpp"

namespace ramify::pyrat {

constexpr int kMaxSide = 64;
constexpr int kMaxMud = 255;

enum Direction : int { kUp, kRight, kDown, kLeft, kStay };
constexpr int kDirections = 4;  // those that lead somewhere
constexpr int kActions = 5;     // and staying
constexpr int opposite(int direction) { return direction ^ 2; }

// What lies between a cell and its neighbour: kWall (the border too), kOpen, or N >= 2 for mud of N turns.
using Passage = std::uint8_t;
constexpr Passage kWall = 0;
constexpr Passage kOpen = 1;
// Turns until a player who goes through is free again; not of a wall.
constexpr int turns_through(Passage passage) { return passage == kOpen ? 1 : passage + 1; }

struct Edge {
  int cell;
  int direction;
};

class Maze {
 public:
  Maze(int width, int height)  // every edge a wall
      : width_(width), height_(height), passages_(static_cast<std::size_t>(kActions * width * height), kWall) {}

  int width() const { return width_; }
  int height() const { return height_; }
  int cells() const { return width_ * height_; }
  int cell(int x, int y) const { return y * width_ + x; }
  int x(int cell) const { return cell % width_; }
  int y(int cell) const { return cell / width_; }

  // The passage that an action meets; staying meets a wall like any action without effect.
  Passage at(int cell, int action) const { return passages_[static_cast<std::size_t>(action * cells() + cell)]; }
  // All cells' passages in one direction, in the order of cells.
  const Passage* row(int direction) const { return passages_.data() + direction * cells(); }
  // The cell in that direction, which must be inside the grid.
  int neighbour(int cell, int direction) const {
    const std::array<int, kDirections> offset{width_, 1, -width_, -1};
    return cell + offset[static_cast<std::size_t>(direction)];
  }
  bool has_neighbour(int cell, int direction) const {
    switch (direction) {
      case kUp: return cell + width_ < cells();
      case kRight: return (cell + 1) % width_ != 0;
      case kDown: return cell >= width_;
      default: return cell % width_ != 0;
    }
  }
  // The cell that a half turn of the board leads to.
  int mirror(int cell) const { return cells() - 1 - cell; }
  Edge mirror(Edge edge) const { return {mirror(edge.cell), opposite(edge.direction)}; }

  // Sets both directions of an edge inside the grid.
  void set(Edge edge, Passage passage);

  // Equal for equal mazes.
  Key key() const;

 private:
  int width_;
  int height_;
  std::vector<Passage> passages_;  // [action][cell]; the last row, staying, is all kWall
};

}  // namespace ramify::pyrat
