#include "games/chess/fen.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "games/chess/movegen.hpp"

namespace ramify::chess {
namespace {

constexpr std::string_view kLetters = "PNBRQKpnbrqk";
constexpr std::string_view kRightLetters = "KQkq";
constexpr Bitboard kBackRanks = kRank1 | kRank8;

// Texts come from anywhere: what is shown of them is short and plain ASCII.
std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  std::string out(text.substr(0, kLongest));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return "'" + out + (text.size() > kLongest ? "...'" : "'");
}

[[noreturn]] void fail(std::string_view fen, const std::string& why) {
  throw InvalidInput("chess: FEN " + shown(fen) + ": " + why);
}

std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view kBlank = " \t\n\r";
  std::vector<std::string_view> words;
  for (std::size_t from = text.find_first_not_of(kBlank); from != text.npos;) {
    const std::size_t to = std::min(text.find_first_of(kBlank, from), text.size());
    words.push_back(text.substr(from, to - from));
    from = text.find_first_not_of(kBlank, to);
  }
  return words;
}

// Fills the position as white sees it: own = white.
void read_board(Position& p, std::string_view board, std::string_view fen) {
  int file = 0, rank = 7;
  bool after_digit = false;
  for (char c : board) {
    const bool digit = c >= '1' && c <= '8';
    const std::size_t piece = kLetters.find(c);
    if (c == '/') {
      if (file != 8 || rank == 0) fail(fen, "the board must be 8 ranks of 8 squares, separated by '/'");
      file = 0;
      --rank;
    } else if (digit && !after_digit) {
      file += c - '0';
    } else if (piece != kLetters.npos && file < 8) {
      const Bitboard square = bit(8 * rank + file++);
      (piece < kKinds ? p.own : p.theirs) |= square;
      p.of[piece % kKinds] |= square;
    } else {
      fail(fen, "the board must be 8 ranks of 8 squares in letters of " + std::string(kLetters) + " and counts of " +
                    "empty squares; " + shown({&c, 1}) + " does not fit on rank " + std::to_string(rank + 1));
    }
    after_digit = digit;
    if (file > 8) fail(fen, "rank " + std::to_string(rank + 1) + " has more than 8 squares");
  }
  if (file != 8 || rank != 0) fail(fen, "the board must be 8 ranks of 8 squares, separated by '/'");
}

std::uint8_t read_rights(std::string_view word, std::string_view fen) {
  std::uint8_t rights = 0;
  std::size_t next = 0;
  if (word == "-") return rights;
  for (char c : word) {
    const std::size_t right = kRightLetters.find(c, next);
    if (right == kRightLetters.npos)
      fail(fen, "castling must be '-' or letters of KQkq in that order, not " + shown(word));
    rights = static_cast<std::uint8_t>(rights | 1u << right);
    next = right + 1;
  }
  return rights;
}

// As white sees it; 0 for none (a1 is never passed over).
Square read_passed(std::string_view word, bool black, std::string_view fen) {
  if (word == "-") return 0;
  const char rank = black ? '3' : '6';
  if (word.size() != 2 || word[0] < 'a' || word[0] > 'h' || word[1] != rank)
    fail(fen, "the en-passant square must be '-' or a square of rank " + std::string(1, rank) + " (" +
                  (black ? "black" : "white") + " is to move), not " + shown(word));
  return 8 * (word[1] - '1') + word[0] - 'a';
}

int read_counter(const std::vector<std::string_view>& words, std::size_t index, const char* name, int fallback,
                 std::string_view fen) {
  if (index >= words.size()) return fallback;
  const std::string_view word = words[index];
  int count = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  if (error != std::errc{} || end != word.data() + word.size() || count < 0 || count > kMaxCounter)
    fail(fen, std::string(name) + " must be a number from 0 to " + std::to_string(kMaxCounter) + ", not " +
                  shown(word));
  return count;
}

std::string colour(bool black) { return black ? "black" : "white"; }

std::string bad_material(const Position& p) {
  for (const bool theirs : {false, true}) {
    const Bitboard side = theirs ? p.theirs : p.own;
    const std::string who = colour(p.black != theirs);
    if (const int kings = std::popcount(side & p.of[kKing]); kings != 1)
      return who + " must have one king, not " + std::to_string(kings);
    if (std::popcount(side) > 16) return who + " has more than 16 pieces";
    if (std::popcount(side & p.of[kPawn]) > 8) return who + " has more than 8 pawns";
  }
  return p.of[kPawn] & kBackRanks ? "a pawn stands on the first or last rank" : "";
}

std::string bad_rights(Position p) {
  if (p.black) p.turn();
  for (int right = 0; right < 4; ++right) {
    if (!(p.rights >> right & 1)) continue;
    const Square back = right < 2 ? 0 : kMirror;
    const Square king = back + 4, rook = back + (right % 2 == 0 ? 7 : 0);
    const Bitboard side = right < 2 ? p.own : p.theirs;
    if (!(side & p.of[kKing] & bit(king)) || !(side & p.of[kRook] & bit(rook)))
      return std::string("castling right ") + kRightLetters[right] + " needs the king on " + square_name(king) +
             " and a rook on " + square_name(rook);
  }
  return "";
}

// Could one move have given all these checks?
bool impossible_check(const Position& p, Bitboard checkers, Square passed) {
  if (!checkers) return false;
  if (std::popcount(checkers) > 2) return true;
  if (!passed)  // two sliders on one line through the king cannot both have been opened by one move
    return several(checkers) && (line(first(checkers), first(without_first(checkers))) & bit(p.king()));
  // The last move was a pawn's double step: it checks itself, or it opened a line that was closed before.
  const Bitboard to = bit(passed - 8), from = bit(passed + 8);
  return several(checkers) || (checkers != to && p.attackers(p.king(), (p.occupied() & ~to) | from, p.theirs));
}

}  // namespace

char piece_letter(bool black, Kind kind) { return kLetters[kind + (black ? kKinds : 0)]; }

std::string impossible(const Position& p, Square passed) {
  if (auto why = bad_material(p); !why.empty()) return why;
  if (auto why = bad_rights(p); !why.empty()) return why;
  if (passed && (!(p.theirs & p.of[kPawn] & bit(passed - 8)) || p.occupied() & (bit(passed) | bit(passed + 8))))
    return "no pawn can just have passed over " + square_name(passed ^ p.flip());
  Position other = p;
  other.turn();
  if (other.in_check()) return colour(other.black) + " is in check but " + colour(p.black) + " is to move";
  if (impossible_check(p, find_checks(p).checkers, passed))
    return colour(p.black) + " is in a check that no move can have given";
  return "";
}

Setup parse_fen(std::string_view fen) {
  const auto words = words_of(fen);
  if (words.size() < 4 || words.size() > 6)
    fail(fen, "there must be 4 to 6 words (board, side, castling, en passant, half-move clock, move number), not " +
                  std::to_string(words.size()));
  Setup setup;
  Position& p = setup.position;
  read_board(p, words[0], fen);
  if (words[1] != "w" && words[1] != "b") fail(fen, "the side to move must be w or b, not " + shown(words[1]));
  const bool black = words[1] == "b";
  p.rights = read_rights(words[2], fen);
  Square passed = read_passed(words[3], black, fen);
  setup.clock = read_counter(words, 4, "the half-move clock", 0, fen);
  setup.number = std::max(1, read_counter(words, 5, "the move number", 1, fen));
  if (black) {
    p.turn();
    if (passed) passed ^= kMirror;
  }
  if (const auto why = impossible(p, passed); !why.empty()) fail(fen, why);
  if (passed) p.set_en_passant(passed);
  p.key = p.full_key();
  return setup;
}

std::string write_fen(const Setup& setup) {
  Position p = setup.position;
  const std::string passed = p.en_passant ? square_name(p.en_passant ^ p.flip()) : "-";
  const bool black = p.black;
  if (black) p.turn();
  std::string out;
  for (int rank = 7; rank >= 0; --rank) {
    int empty = 0;
    const auto flush = [&] {
      if (empty) out += static_cast<char>('0' + std::exchange(empty, 0));
    };
    for (Square square = 8 * rank; square < 8 * rank + 8; ++square) {
      if (!(p.occupied() >> square & 1)) {
        ++empty;
        continue;
      }
      flush();
      out += piece_letter(p.theirs >> square & 1, p.kind_at(square));
    }
    flush();
    if (rank) out += '/';
  }
  out += black ? " b " : " w ";
  for (std::size_t right = 0; right < 4; ++right)
    if (p.rights >> right & 1) out += kRightLetters[right];
  if (!p.rights) out += '-';
  return out + ' ' + passed + ' ' + std::to_string(setup.clock) + ' ' + std::to_string(setup.number);
}

}  // namespace ramify::chess
