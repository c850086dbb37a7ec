#include "games/hex.hpp"

#include <algorithm>
#include <cmath>

namespace ramify {
namespace {

constexpr std::array<std::array<int, 2>, 6> kNeighbours{{{-1, 0}, {-1, 1}, {0, -1}, {0, 1}, {1, -1}, {1, 0}}};

constexpr int kFar = 200;  // a distance that the other player need not allow

}  // namespace

Hex::Hex(Params& params) {
  size_ = static_cast<int>(params.integer("size", 11, 2, kMaxSize, "rows and columns"));
  swap_ = params.flag("swap", false, "whether player 1 may swap: the first stone becomes player 1's, on the mirrored cell");
  cells_ = size_ * size_;
  words_ = (cells_ + 63) / 64;
  const Key domain = combine(combine(hash_text(name), static_cast<Key>(size_)), swap_);
  side_key_ = zobrist(domain, 2 * kMaxSize * kMaxSize);
  for (int row = 0; row < size_; ++row)
    for (int column = 0; column < size_; ++column) {
      const int index = row * size_ + column;
      Cell at;
      Cells around{};
      at.base = static_cast<std::uint16_t>(std::clamp(index - size_, 0, 64 * (kWords - 1) - 1));
      for (const auto [down, right] : kNeighbours) {
        const int r = row + down, c = column + right;
        if (r < 0 || r >= size_ || c < 0 || c >= size_) continue;
        at.neighbours |= std::uint64_t{1} << (r * size_ + c - at.base);
        add(around, r * size_ + c);
      }
      for (std::size_t player = 0; player < 2; ++player)
        at.key[player] = zobrist(domain, 2 * static_cast<Key>(index) + player);
      at.starts = static_cast<std::uint8_t>((row == 0) | (column == 0) << 1);
      at.ends = static_cast<std::uint8_t>((row == size_ - 1) | (column == size_ - 1) << 1);
      for (int player = 0; player < 2; ++player) {
        if (at.starts >> player & 1) add(edges_[static_cast<std::size_t>(player)][0], index);
        if (at.ends >> player & 1) add(edges_[static_cast<std::size_t>(player)][1], index);
      }
      add(board_, index);
      table_.push_back(at);
      around_.push_back(around);
    }
  initial_.key = initial_.rotated = mix(domain);
}

template <class Visit>
void Hex::each(const Cells& set, Visit&& visit) const {
  for (std::size_t w = 0; w < static_cast<std::size_t>(words_); ++w)
    for (std::uint64_t left = set[w]; left; left &= left - 1)
      visit(w * 64 + static_cast<std::size_t>(std::countr_zero(left)));
}

// Player 1 takes over the first stone: as one stone is joined to nothing but edges, the board is simply set up anew. The
// stone is read from the board: `last` is unknown in a position that was given without it.
void Hex::swap_players(State& s) const {
  int stone = 0;
  each(s.stones[0], [&](std::size_t c) { stone = static_cast<int>(c); });
  const int mirrored = stone % size_ * size_ + stone / size_;
  const bool second = s.second;
  s = initial_;
  s.second = second;
  place(s, 1, mirrored);
}

// What a position looks like at a glance: van Rijswijck's two-distance (Queenbee, 2000).
//
// A cell is at distance 1 from an edge if it touches it, over own stones too; else one further than the second nearest
// of its neighbours, for the other player would take the nearest. Over two empty neighbours a distance cannot be
// spoilt, so bridges count as what they are. The sum of a cell's distances to both edges says how many stones a chain
// through it needs; the least sum is the player's distance from winning, and the cells that attain it are its ways.
void Hex::join_groups(const State& s, int player, const Cells& empty, Links& links) const {
  const auto p = static_cast<std::size_t>(player), words = static_cast<std::size_t>(words_);
  const auto unite = [words](Cells& set, const Cells& other) {
    for (std::size_t w = 0; w < words; ++w) set[w] |= other[w];
  };
  Cells done{};
  each(s.stones[p], [&](std::size_t stone) {
    const int where = static_cast<int>(stone);
    if (has(done, where)) return;
    Cells group{}, around{};
    join(group, s.stones[p], where);
    each(group, [&](std::size_t c) { unite(around, around_[c]); });
    for (std::size_t w = 0; w < words; ++w) around[w] &= empty[w];
    each(around, [&](std::size_t c) { unite(links.next[c], around); });
    if (has(s.start, where)) unite(links.near[0], around);
    if (has(s.end, where)) unite(links.near[1], around);
    unite(done, group);
  });
}

// Ring after ring: a cell is reached when a second neighbour is.
void Hex::add_distances(const Links& links, const Cells& edge, Distances& found) const {
  const auto words = static_cast<std::size_t>(words_);
  Cells front = edge, reached = edge, once{}, twice{};
  bool any = true;
  for (int distance = 1; any; ++distance) {
    each(front, [&](std::size_t c) {
      found.over[c] = static_cast<std::int16_t>(found.over[c] + distance - kFar);
      for (std::size_t w = 0; w < words; ++w) {
        twice[w] |= once[w] & links.next[c][w];
        once[w] |= links.next[c][w];
      }
    });
    any = false;
    for (std::size_t w = 0; w < words; ++w) {
      front[w] = twice[w] & ~reached[w];
      reached[w] |= front[w];
      any |= front[w] != 0;
    }
  }
}

Hex::Distances Hex::distances(const State& s, int player) const {
  const auto words = static_cast<std::size_t>(words_);
  Cells empty{};
  for (std::size_t w = 0; w < words; ++w) empty[w] = board_[w] & ~(s.stones[0][w] | s.stones[1][w]);
  Links links;
  links.near = edges_[static_cast<std::size_t>(player)];
  each(empty, [&](std::size_t c) {
    for (std::size_t w = 0; w < words; ++w) links.next[c][w] = around_[c][w] & empty[w];
  });
  join_groups(s, player, empty, links);
  Distances found;
  each(empty, [&](std::size_t c) { found.over[c] = 2 * kFar; });
  for (Cells& edge : links.near) {
    for (std::size_t w = 0; w < words; ++w) edge[w] &= empty[w];
    add_distances(links, edge, found);
  }
  found.least = kFar;
  each(empty, [&](std::size_t c) {
    if (found.over[c] < found.least) found.ways = 0;
    found.least = std::min<int>(found.least, found.over[c]);
    found.ways += found.over[c] == found.least;
  });
  return found;
}

float Hex::heuristic(const State& s) const {
  const Distances first = distances(s, 0), second = distances(s, 1);
  const float lead = 100.0f * static_cast<float>(second.least - first.least) + static_cast<float>(first.ways - second.ways);
  return lead / (std::abs(lead) + 200.0f);
}

// Cells on short ways of either player first.
void Hex::rank(const State& s, const Action* actions, int count, std::int32_t* ranks) const {
  const Distances first = distances(s, 0), second = distances(s, 1);
  for (int i = 0; i < count; ++i) {
    const auto c = static_cast<std::size_t>(actions[i]);
    ranks[i] = actions[i] == cells_ ? 4 * kFar * 32 : (4 * kFar - first.over[c] - second.over[c]) * 32;
  }
}

void Hex::observe(const State& s, int player, float* out) const {
  const auto plane = static_cast<std::size_t>(cells_);
  std::fill(out, out + 2 * plane, 0.0f);
  for (int side = 0; side < 2; ++side, out += plane) {
    const Cells& stones = s.stones[static_cast<std::size_t>(player ^ side)];
    for (int word = 0; word < words_; ++word)
      for (std::uint64_t left = stones[static_cast<std::size_t>(word)]; left; left &= left - 1)
        out[word * 64 + std::countr_zero(left)] = 1.0f;
  }
  std::fill(out, out + plane, player == 0 ? 1.0f : 0.0f);
  if (swap_) std::fill(out + plane, out + 2 * plane, can_swap(s) ? 1.0f : 0.0f);
}

std::vector<Symmetry> Hex::symmetries() const {
  CellMap identity{"identity", {}}, turn{"rotate 180", {}};
  for (int index = 0; index < cells_; ++index) {
    identity.cell.push_back(index);
    turn.cell.push_back(cells_ - 1 - index);
  }
  std::vector<Symmetry> list = board_symmetries(3 + swap_, {identity, turn});
  if (swap_)
    for (Symmetry& symmetry : list) symmetry.actions.push_back(cells_);
  return list;
}

Hex::State Hex::transform(const State& s, int k) const {
  if (k == 0) return s;
  const auto turned = [this](const Cells& set) {
    Cells image{};
    for (int index = 0; index < cells_; ++index)
      if (has(set, index)) add(image, cells_ - 1 - index);
    return image;
  };
  State image = s;
  image.stones = {turned(s.stones[0]), turned(s.stones[1])};
  image.start = turned(s.end);  // the edges change places with the cells
  image.end = turned(s.start);
  std::swap(image.key, image.rotated);
  if (s.last >= 0) image.last = static_cast<std::int16_t>(cells_ - 1 - s.last);
  return image;
}

std::string Hex::action_name(const State&, int, Action action) const {
  return action == cells_ ? "swap" : cell_name(action / size_, action % size_);
}

// Capital letters are the edges: X to be joined by x, O by o.
std::string Hex::text(const State& s) const {
  std::string letters, edge = "X";
  for (int column = 0; column < size_; ++column) {
    letters += std::string(column ? " " : "") + static_cast<char>('a' + column);
    edge += " X";
  }
  std::string out = "    " + letters + "\n     " + edge + '\n';
  for (int row = 0; row < size_; ++row) {
    const std::string label = std::to_string(row + 1);
    out += std::string(static_cast<std::size_t>(row) + (label.size() < 2), ' ') + ' ' + label + " O";
    for (int column = 0; column < size_; ++column) out += std::string(" ") + symbol(s, row * size_ + column);
    out += " O " + label + '\n';
  }
  const std::string indent(static_cast<std::size_t>(size_) + 4, ' ');
  out += indent + edge + '\n' + indent + "   " + letters + '\n';
  if (s.over) return out + (s.second ? "x has won" : "o has won");
  return out + (s.second ? "o to move" : "x to move") + (can_swap(s) ? " or swap" : "");
}

Value::Dict Hex::fields(const State& s) const {
  return {{"board", board_rows(size_, size_, [&](int index) { return symbol(s, index); })},
          {"to_move", s.second ? "o" : "x"},
          {"last", s.last < 0 ? Value() : Value(cell_name(s.last / size_, s.last % size_))}};
}

Hex::State Hex::parse(const Value::Dict& parts) const {
  const auto find = [&](std::string_view wanted) {
    return part(parts, wanted, {"actions", "board", "to_move", "last"}, name);
  };
  if (const Value* actions = find("actions")) {
    if (parts.size() > 1) throw InvalidInput("hex: give either actions, or board, to_move and last");
    return replay(*this, *actions);
  }
  State s = initial_;
  read_board(s, parts);
  s.second = second_to_move(s, find("to_move"));
  if (s.second) {
    s.key ^= side_key_;
    s.rotated ^= side_key_;
  }
  s.last = read_last(s, find("last"));
  for (int player = 0; player < 2; ++player)
    for (int index = 0; index < cells_; ++index)
      if (has(s.start, index) && has(s.end, index) && has(s.stones[static_cast<std::size_t>(player)], index)) {
        if (player == s.second)
          throw InvalidInput(std::string("hex: ") + "xo"[player] +
                             " has connected its edges, so it moved last and cannot be the player to move");
        s.over = true;
      }
  return s;
}

void Hex::read_board(State& s, const Value::Dict& parts) const {
  const std::string symbols = board_cells(parts, size_, size_, "xo.", name);
  for (int index = 0; index < cells_; ++index) {
    const char symbol = symbols[static_cast<std::size_t>(index)];
    if (symbol != '.') place(s, symbol == 'o', index);
  }
}

// x starts; after a swap it is o who has one stone more when x is to move, and as many when o is.
bool Hex::second_to_move(const State& s, const Value* to_move) const {
  int x = 0;
  for (std::uint64_t word : s.stones[0]) x += std::popcount(word);
  const int o = s.count - x;
  const bool first_fits = x == o || (swap_ && o == x + 1);
  const bool second_fits = x == o + 1 || (swap_ && x == o && x > 0);
  const std::string counts = "hex: with " + std::to_string(x) + " x and " + std::to_string(o) + " o ";
  if (!first_fits && !second_fits)
    throw InvalidInput(counts + "the position is impossible: x moves first, so x has as many stones as o or one more" +
                       (swap_ ? " (one fewer is possible after a swap)" : ""));
  if (!to_move || to_move->is_null()) return !first_fits;
  const auto* side = std::get_if<std::string>(&to_move->data);
  if (!side || (*side != "x" && *side != "o"))
    throw InvalidInput("hex: to_move must be 'x' or 'o', not " + describe(*to_move));
  if (*side == "x" ? !first_fits : !second_fits) throw InvalidInput(counts + "it is not " + *side + "'s turn");
  return *side == "o";
}

std::int16_t Hex::read_last(const State& s, const Value* last) const {
  if (!last || last->is_null()) return -1;
  const auto* given = std::get_if<std::string>(&last->data);
  for (int index = 0; given && index < cells_; ++index)
    if (*given == cell_name(index / size_, index % size_) && has(s.stones[!s.second], index))
      return static_cast<std::int16_t>(index);
  throw InvalidInput(std::string("hex: last must name a stone of ") + (s.second ? "x" : "o") +
                     ", the player who is not to move, not " + describe(*last));
}

}  // namespace ramify
