#include "games/pyrat/generate.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <queue>
#include <utility>

namespace ramify::pyrat {
namespace {

// The board is drawn column by column (x-major), which fixes what a seed means.
template <class Visit>
void each_cell(const Maze& maze, Visit visit) {
  for (int x = 0; x < maze.width(); ++x)
    for (int y = 0; y < maze.height(); ++y) visit(maze.cell(x, y));
}

class MazeBuilder {
 public:
  MazeBuilder(const Recipe& recipe, Rng rng) : recipe_(recipe), rng_(rng), maze_(recipe.width, recipe.height) {}

  Maze build() {
    open_at_random();
    if (recipe_.connected) connect();
    else free_the_border();
    return std::move(maze_);
  }

 private:
  // In symmetric mode one cell of each mirrored pair draws for both. Edges between the two halves are drawn from both
  // of their sides and are open if either draw opens them.
  void open_at_random() {
    std::vector<bool> covered(static_cast<std::size_t>(maze_.cells()));
    each_cell(maze_, [&](int cell) {
      if (covered[static_cast<std::size_t>(cell)]) return;
      if (recipe_.symmetric) covered[static_cast<std::size_t>(maze_.mirror(cell))] = true;
      for (int direction : {kRight, kUp})
        if (maze_.has_neighbour(cell, direction) && rng_.uniform() >= recipe_.wall_density)
          open({cell, direction}, 1);
    });
  }

  // Joins component after component to that of cell 0. All cells before the first one outside are inside, so the
  // two components always touch.
  void connect() {
    const auto cells = static_cast<std::size_t>(maze_.cells());
    inside_.assign(cells, false);
    seen_.assign(cells, false);
    absorb(0);
    each_cell(maze_, [&](int cell) {
      if (inside(cell)) return;
      find_doors(cell);
      const Edge edge = pick(doors_);
      open(edge, recipe_.symmetric ? 2 : 1);
      absorb(edge.cell);
      // Where the component of cell 0 is its own mirror image, the mirrored edge has joined a second one to it.
      const Edge mirrored = maze_.mirror(edge);
      if (recipe_.symmetric && inside(maze_.neighbour(mirrored.cell, mirrored.direction))) absorb(mirrored.cell);
    });
  }

  // A border cell is never walled in, even where the maze may fall apart.
  void free_the_border() {
    each_cell(maze_, [&](int cell) {
      doors_.clear();
      bool walled_in = true;
      for (int direction = 0; direction < kDirections; ++direction) {
        walled_in = walled_in && maze_.at(cell, direction) == kWall;
        if (maze_.has_neighbour(cell, direction)) doors_.push_back({cell, direction});
      }
      if (walled_in && doors_.size() < kDirections) open(pick(doors_), 1);
    });
  }

  // Opens an edge and, in symmetric mode, its mirror image. Mud is drawn `mud_draws` times; the last that hits counts,
  // and an edge opened before keeps its mud.
  void open(Edge edge, int mud_draws) {
    Passage passage = std::max(maze_.at(edge.cell, edge.direction), kOpen);
    for (int draw = 0; draw < mud_draws; ++draw)
      if (rng_.uniform() < recipe_.mud_density)
        passage = static_cast<Passage>(2 + rng_.below(static_cast<std::uint32_t>(recipe_.mud_max - 1)));
    maze_.set(edge, passage);
    if (recipe_.symmetric) maze_.set(maze_.mirror(edge), passage);
  }

  bool inside(int cell) const { return inside_[static_cast<std::size_t>(cell)]; }

  Edge pick(const std::vector<Edge>& edges) { return edges[rng_.below(static_cast<std::uint32_t>(edges.size()))]; }

  // Brings everything that can be reached from a cell into the component of cell 0.
  void absorb(int start) {
    reach(start, inside_, [](int, int) {});
  }

  // The edges that lead from a cell's component into that of cell 0.
  void find_doors(int start) {
    doors_.clear();
    reach(start, seen_, [&](int cell, int direction) {
      if (inside(maze_.neighbour(cell, direction))) doors_.push_back({cell, direction});
    });
  }

  // Marks every cell that can be reached from an unmarked cell; visits the walls met on the way.
  template <class Visit>
  void reach(int start, std::vector<bool>& marked, Visit visit_wall) {
    if (marked[static_cast<std::size_t>(start)]) return;
    marked[static_cast<std::size_t>(start)] = true;
    queue_.assign(1, start);
    while (!queue_.empty()) {
      const int cell = queue_.back();
      queue_.pop_back();
      for (int direction = 0; direction < kDirections; ++direction) {
        if (maze_.at(cell, direction) == kWall) {
          if (maze_.has_neighbour(cell, direction)) visit_wall(cell, direction);
          continue;
        }
        const int next = maze_.neighbour(cell, direction);
        if (marked[static_cast<std::size_t>(next)]) continue;
        marked[static_cast<std::size_t>(next)] = true;
        queue_.push_back(next);
      }
    }
  }

  const Recipe& recipe_;
  Rng rng_;
  Maze maze_;
  std::vector<bool> inside_;  // the component of cell 0
  std::vector<bool> seen_;    // components that have been searched for doors, each once
  std::vector<Edge> doors_;   // scratch of find_doors and free_the_border
  std::vector<int> queue_;    // scratch of reach
};

bool is_odd(int number) { return number % 2 != 0; }

// The middle cell, where there is one.
std::optional<int> centre(const Recipe& recipe) {
  const int cells = recipe.width * recipe.height;
  if (is_odd(cells)) return cells / 2;
  return std::nullopt;
}

bool centre_piece(const Recipe& recipe) { return recipe.symmetric && is_odd(recipe.cheese); }

// Cells that may be drawn: no start and never the centre, which belongs to the odd piece of a symmetric board alone.
// In symmetric mode one of each mirrored pair, if neither is a start.
std::vector<int> candidates(const Recipe& recipe, const Starts& starts) {
  const int cells = recipe.width * recipe.height;
  const auto is_start = [&](int cell) { return cell == starts[0] || cell == starts[1]; };
  std::vector<int> list;
  for (int cell = 0; cell < (recipe.symmetric ? cells / 2 : cells); ++cell)
    if (!is_start(cell) && cell != centre(recipe) && !(recipe.symmetric && is_start(cells - 1 - cell)))
      list.push_back(cell);
  return list;
}

// How many pieces fit whatever starts are drawn: the fewest candidates are left by two starts that lie apart from the
// centre and from each other's mirror image.
int capacity(const Recipe& recipe) {
  const int cells = recipe.width * recipe.height;
  const int drawn = recipe.starts ? static_cast<int>(candidates(recipe, *recipe.starts).size())
                                  : std::max(0, (recipe.symmetric ? cells / 2 : cells - is_odd(cells)) - 2);
  return (recipe.symmetric ? 2 * drawn : drawn) + centre_piece(recipe);
}

constexpr int kDraws = 100;  // of starts, until one pair is balanced enough

Starts draw_starts(const Recipe& recipe, Rng& rng) {
  if (recipe.starts) return *recipe.starts;
  std::vector<int> cells;
  for (int cell = 0; cell < recipe.width * recipe.height; ++cell)
    if (!(centre_piece(recipe) && cell == centre(recipe))) cells.push_back(cell);
  const auto first = rng.below(static_cast<std::uint32_t>(cells.size()));
  const auto other = rng.below(static_cast<std::uint32_t>(cells.size() - 1));
  return {cells[first], cells[other + (other >= first)]};
}

std::vector<int> draw_cheese(const Recipe& recipe, const Starts& starts, Rng rng) {
  std::vector<int> list = candidates(recipe, starts);
  const auto draws = static_cast<std::size_t>(recipe.symmetric ? recipe.cheese / 2 : recipe.cheese);
  for (std::size_t i = 0; i < draws; ++i)
    std::swap(list[i], list[i + rng.below(static_cast<std::uint32_t>(list.size() - i))]);
  list.resize(draws);
  if (recipe.symmetric)
    for (std::size_t i = 0; i < draws; ++i) list.push_back(recipe.width * recipe.height - 1 - list[i]);
  if (centre_piece(recipe)) list.push_back(*centre(recipe));
  std::ranges::sort(list);
  return list;
}

// By how many turns per piece one of the players is nearer to the cheese than the other, on average.
double imbalance(const Maze& maze, const Placement& placement) {
  if (placement.cheese.empty()) return 0.0;
  std::array<int, 2> total{};
  for (std::size_t player = 0; player < 2; ++player) {
    const std::vector<int> turns = turns_from(maze, placement.starts[player]);
    for (const int cell : placement.cheese) total[player] += turns[static_cast<std::size_t>(cell)];
  }
  return std::abs(total[0] - total[1]) / static_cast<double>(placement.cheese.size());
}

}  // namespace

std::string obstacle(const Recipe& recipe) {
  const std::string size = std::to_string(recipe.width) + "x" + std::to_string(recipe.height);
  const std::string count = std::to_string(recipe.cheese);
  const std::optional<int> middle = centre(recipe);
  if (centre_piece(recipe)) {
    const std::string odd = "an odd number of cheese (" + count + ") on a symmetric board puts one piece on the centre";
    const std::string advice = "; make cheese even or symmetric=False";
    if (!middle) return odd + ", but a " + size + " board has no centre cell" + advice;
    if (recipe.starts && (recipe.starts->at(0) == middle || recipe.starts->at(1) == middle))
      return odd + ", but a player starts there" + advice;
  }
  if (const int most = capacity(recipe); recipe.cheese > most)
    return "a " + size + " board with these starts and symmetric=" + (recipe.symmetric ? "True" : "False") +
           " has room for " + std::to_string(most) + " cheese, not " + count;
  return "";
}

Maze draw_maze(const Recipe& recipe, Rng rng) { return MazeBuilder(recipe, rng).build(); }

std::vector<int> turns_from(const Maze& maze, int start) {
  std::vector<int> turns(static_cast<std::size_t>(maze.cells()), maze.cells());
  using Entry = std::pair<int, int>;  // turns, cell
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  turns[static_cast<std::size_t>(start)] = 0;
  open.emplace(0, start);
  while (!open.empty()) {
    const auto [spent, cell] = open.top();
    open.pop();
    if (spent > turns[static_cast<std::size_t>(cell)]) continue;
    for (int direction = 0; direction < kDirections; ++direction) {
      const Passage passage = maze.at(cell, direction);
      if (passage == kWall) continue;
      const int next = maze.neighbour(cell, direction), after = spent + (passage == kOpen ? 1 : passage + 1);
      if (after >= turns[static_cast<std::size_t>(next)]) continue;
      turns[static_cast<std::size_t>(next)] = after;
      open.emplace(after, next);
    }
  }
  return turns;
}

Placement draw_placement(const Recipe& recipe, const Maze& maze, Rng starts, Rng cheese) {
  Placement best;
  double least = 0.0;
  for (int draw = 0; draw < (recipe.imbalance ? kDraws : 1); ++draw) {
    Placement drawn{draw_starts(recipe, starts), {}};
    drawn.cheese = draw_cheese(recipe, drawn.starts, cheese);
    if (!recipe.imbalance) return drawn;
    const double found = imbalance(maze, drawn);
    if (draw == 0 || found < least) {
      best = std::move(drawn);
      least = found;
    }
    if (least <= *recipe.imbalance) break;
  }
  return best;
}

}  // namespace ramify::pyrat
