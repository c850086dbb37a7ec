// The symmetries of PyRat: those of the rectangle, each with and without the players changing places.
#include <algorithm>
#include <array>
#include <utility>

#include "games/pyrat/pyrat.hpp"

namespace ramify {

using namespace pyrat;

namespace {

constexpr std::array<std::pair<int, int>, kDirections> kOffsets{{{0, 1}, {1, 0}, {0, -1}, {-1, 0}}};

// Exchange x and y, if so; then flip what is now x, then y.
struct Turn {
  const char* name;
  bool transposes, flips_x, flips_y;

  int cell(int cell, int width, int height) const {  // a turn that transposes is for squares only
    int x = cell % width, y = cell / width;
    if (transposes) std::swap(x, y);
    return (flips_y ? height - 1 - y : y) * width + (flips_x ? width - 1 - x : x);
  }

  int direction(int direction) const {
    auto [x, y] = kOffsets[static_cast<std::size_t>(direction)];
    if (transposes) std::swap(x, y);
    const std::pair<int, int> image{flips_x ? -x : x, flips_y ? -y : y};
    return static_cast<int>(std::ranges::find(kOffsets, image) - kOffsets.begin());
  }
};

// Directions as they look with y upward; a rectangle has the first four.
constexpr std::array<Turn, 8> kTurns{{{"identity", false, false, false},
                                      {"rotate 180", false, true, true},
                                      {"flip x", false, true, false},
                                      {"flip y", false, false, true},
                                      {"rotate left", true, true, false},
                                      {"rotate right", true, false, true},
                                      {"transpose", true, false, false},
                                      {"antitranspose", true, true, true}}};

int count_turns(int width, int height) { return width == height ? 8 : 4; }

// Where each plane's content goes; see PyRat::observe.
int plane_image(int plane, const Turn& turn) {
  if (plane < 3 || plane >= 11) return plane;  // a viewer who changes seats still sees itself first
  const int first = plane < 7 ? 3 : 7;
  return first + turn.direction(plane - first);
}

Symmetry make_symmetry(const Turn& turn, bool swaps, int planes, int width, int height) {
  const int cells = width * height;
  const bool still = turn.name == std::string_view("identity");
  Symmetry symmetry;
  symmetry.name = !swaps ? turn.name : still ? "swap players" : std::string(turn.name) + ", swap players";
  symmetry.swaps_players = swaps;
  symmetry.observation.resize(static_cast<std::size_t>(planes * cells));
  for (int plane = 0; plane < planes; ++plane)
    for (int cell = 0; cell < cells; ++cell)
      symmetry.observation[static_cast<std::size_t>(plane_image(plane, turn) * cells +
                                                    turn.cell(cell, width, height))] = plane * cells + cell;
  for (int direction = 0; direction < kDirections; ++direction) symmetry.actions.push_back(turn.direction(direction));
  symmetry.actions.push_back(kStay);
  return symmetry;
}

}  // namespace

std::vector<Symmetry> PyRat::symmetries() const {
  std::vector<Symmetry> list;
  const int width = recipe_.width, height = recipe_.height;
  for (const bool swaps : {false, true})
    for (int turn = 0; turn < count_turns(width, height); ++turn)
      list.push_back(make_symmetry(kTurns[static_cast<std::size_t>(turn)], swaps, kPlanes, width, height));
  return list;
}

std::vector<Image> PyRat::images_of(const Maze& maze) {
  const int width = maze.width(), height = maze.height(), turns = count_turns(width, height);
  std::vector<Image> images;
  for (int k = 1; k < 2 * turns; ++k) {
    const Turn& turn = kTurns[static_cast<std::size_t>(k % turns)];
    bool keeps = true;
    for (int cell = 0; keeps && cell < maze.cells(); ++cell)
      for (int direction : {kUp, kRight})
        keeps = keeps && maze.at(cell, direction) == maze.at(turn.cell(cell, width, height), turn.direction(direction));
    if (!keeps) continue;
    Image image{k, k % turns != 0, k >= turns, {}};
    for (int cell = 0; cell < maze.cells(); ++cell)
      image.cell.push_back(static_cast<std::uint16_t>(turn.cell(cell, width, height)));
    images.push_back(std::move(image));
  }
  return images;
}

namespace {

std::array<Player, 2> image_players(const std::array<Player, 2>& players, const Image& image) {
  std::array<Player, 2> moved = players;
  for (Player& player : moved) player.cell = image.cell[player.cell];
  if (image.swaps) std::swap(moved[0], moved[1]);
  return moved;
}

}  // namespace

std::pair<Key, int> PyRat::canonical(const State& s) const {
  std::pair<Key, int> least{key(s), 0};
  for (const Image& image : s.setup->images) {
    Key cheese = s.cheese_key;
    if (image.moves) {
      cheese = 0;
      for (std::size_t piece = 0; piece < s.setup->pieces.size(); ++piece)
        if (s.has(static_cast<int>(piece))) cheese ^= zobrist(kCheese, static_cast<Key>(image.cell[s.setup->pieces[piece]]));
    }
    const Key other = key_of(s, image_players(s.players, image), cheese);
    if (other < least.first) least = {other, image.symmetry};
  }
  return least;
}

bool PyRat::transform_within(State& s, const Image& image) {
  State moved = s;
  moved.players = image_players(s.players, image);
  if (image.moves) {
    moved.cheese = {};
    moved.cheese_key = 0;
    for (std::size_t piece = 0; piece < s.setup->pieces.size(); ++piece) {
      if (!s.has(static_cast<int>(piece))) continue;
      const std::uint16_t cell = image.cell[s.setup->pieces[piece]], place = s.setup->piece_at[cell];
      if (place == kNoPiece) return false;
      moved.cheese[place >> 6] |= std::uint64_t{1} << (place & 63);
      moved.cheese_key ^= zobrist(kCheese, static_cast<Key>(cell));
    }
  }
  s = std::move(moved);
  return true;
}

PyRat::State PyRat::transform(const State& s, int k) const {
  for (const Image& image : s.setup->images)
    if (State moved = s; image.symmetry == k && transform_within(moved, image)) return moved;
  const Maze& maze = s.setup->maze;
  const int width = maze.width(), height = maze.height(), turns = count_turns(width, height);
  const Turn& turn = kTurns[static_cast<std::size_t>(k % turns)];

  Maze image(width, height);
  for (int cell = 0; cell < maze.cells(); ++cell)
    for (int direction : {kUp, kRight})
      if (maze.at(cell, direction) != kWall)
        image.set({turn.cell(cell, width, height), turn.direction(direction)}, maze.at(cell, direction));

  std::vector<int> cheese;
  for (std::size_t piece = 0; piece < s.setup->pieces.size(); ++piece)
    if (s.has(static_cast<int>(piece))) cheese.push_back(turn.cell(s.setup->pieces[piece], width, height));
  std::ranges::sort(cheese);

  std::array<Player, 2> players = s.players;
  for (Player& player : players) player.cell = static_cast<std::uint16_t>(turn.cell(player.cell, width, height));
  if (k >= turns) std::swap(players[0], players[1]);
  return assemble(std::move(image), cheese, players, s.turn, s.setup->max_turns);
}

}  // namespace ramify
