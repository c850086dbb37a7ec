// Chess, complete: castling, en passant, promotion, mate, stalemate, insufficient material, repetition, move counters.
//
// Player 0 is white. Actions follow AlphaZero's 8 x 8 x 73 layout (action.hpp), seen from the mover's side; their
// names are the moves in UCI notation on the real board (e2e4, e1g1, e7e8q).
//
// Reward: +1 and -1 on the move that mates; a draw pays nothing. Of several reasons to end at once the first of
// checkmate, insufficient material, stalemate, move counter, repetition counts.
//
// Observation, [22, 8, 8]: planes of [rank, file] as the viewer sees the board, the viewer's first rank first (for
// black the ranks are mirrored, the files are not):
//
//    0 -  5   the viewer's pawns, knights, bishops, rooks, queens, king
//    6 - 11   the other player's, in the same order
//   12        1 everywhere if this position has occurred at least once before
//   13        1 everywhere if it has occurred at least twice before
//   14 - 17   1 everywhere for each castling right: the viewer's short, long; the other player's short, long
//   18        the square where an en-passant capture is legal
//   19        half moves since the last capture or pawn move, divided by 100, everywhere
//   20        1 everywhere if the viewer is white
//   21        1 everywhere if the viewer is to move
//
// It depends on nothing but what the key covers, so positions that share a key share an evaluation.
//
// Keys. `key` covers pieces, side to move, castling rights, a legal en-passant capture, the half-move clock and how
// often the position has occurred: the clock lets no line of play return to a key, and the count keeps a repeated
// position apart from a fresh one. Two lines that reach one key over different positions can still differ in which
// later position is a repetition; `history_key` also covers the earlier positions that could come back. The move number
// is in neither.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "games/chess/action.hpp"
#include "games/chess/fen.hpp"
#include "games/chess/heuristic.hpp"
#include "games/chess/position.hpp"
#include "games/rules.hpp"

namespace ramify {

class Chess {
 public:
  static constexpr std::string_view name = "chess";
  static constexpr std::string_view notation = "fen";

  enum Reason : std::uint8_t {
    kGoesOn,
    kCheckmate,
    kInsufficientMaterial,
    kStalemate,
    kFiftyMoves,
    kSeventyFiveMoves,
    kThreefold,
    kFivefold,
  };

  // A move that can be taken back: no capture, no pawn, no castling right lost. Squares as white sees them.
  struct Quiet {
    std::uint16_t bits;  // not initialised: copies of a state must not pay for unused moves
    static Quiet of(bool black, chess::Kind kind, chess::Square from, chess::Square to) {
      return {static_cast<std::uint16_t>(from | to << 6 | kind << 12 | black << 15)};
    }
    chess::Square from() const { return bits & 63; }
    chess::Square to() const { return bits >> 6 & 63; }
    chess::Kind kind() const { return static_cast<chess::Kind>(bits >> 12 & 7); }
    bool black() const { return bits >> 15; }
  };

  struct Now {
    chess::Position position;
    Key past = 0;                // sum over the earlier positions that could come back
    std::uint16_t clock = 0;     // half moves since the last capture or pawn move
    std::uint16_t number = 1;    // of the move, counted in pairs
    chess::Move last;            // as its mover saw it
    bool has_last = false;
    Reason reason = kGoesOn;
    std::uint8_t occurrences = 1;  // of this position, itself included
    std::uint8_t length = 0;       // of the history in use
  };

  // The position and the moves since the last one that cannot be taken back: two bytes each, from which every earlier
  // position that could come back can be told. A copy copies only the moves in use.
  struct State : Now {
    static constexpr std::size_t kLongest = 150;  // the counters end the game no later
    std::array<Quiet, kLongest> history;

    State() = default;
    State(const State& other) : Now(other) { std::copy_n(other.history.data(), other.length, history.data()); }
    State& operator=(const State& other) {
      if (this == &other) return *this;
      Now::operator=(other);
      std::copy_n(other.history.data(), other.length, history.data());
      return *this;
    }
  };

  explicit Chess(Params& params);

  int num_actions() const { return chess::kActions; }
  Shape observation_shape() const { return {kObservationPlanes, 8, 8}; }
  bool simultaneous() const { return false; }
  State initial(std::uint64_t) const { return start_; }

  Stakes stakes(const State&) const { return zero_sum_stakes(1.0f); }
  Acting acting(const State& s) const { return s.reason ? kOver : s.position.black ? kSecond : kFirst; }
  int actions(const State& s, int player, Action* out) const {
    return acts(acting(s), player) ? chess::legal_actions(s.position, out) : 0;
  }
  Rewards apply(State& s, Joint joint) const;
  void go_on(State& s, Joint joint) const;
  Rewards returns(const State& s) const;

  Key key(const State& s) const {
    return combine(s.position.key ^ salt_, static_cast<Key>(s.clock) << 8 | s.occurrences);
  }
  Key history_key(const State& s) const { return combine(key(s), s.past); }
  void observe(const State& s, int player, float* out) const;

  // See heuristic.hpp.
  float heuristic(const State& s) const;
  void rank(const State& s, const Action* actions, int count, std::int32_t* ranks) const;
  int sharp(const State& s, Action* out) const { return chess::sharp_actions(s.position, out); }

  std::uint64_t perft(const State& s, int depth) const { return chess::perft(s.position, depth); }

  std::string action_name(const State& s, int player, Action action) const;
  std::string text(const State& s) const;

  // fen       the position; equal to python-chess's Board.fen()
  // history   moves in UCI notation that led to it since the last one that cannot be taken back
  // last_move the last move, or None if unknown
  // check     whether the mover is in check
  // reason    why the game is over, or None
  Value::Dict fields(const State& s) const;

  // Any of the fields, and `moves`: moves to play from there. No fen: the start. Raises InvalidInput.
  State parse(const Value::Dict& parts) const;

 private:
  static constexpr int kObservationPlanes = 22;

  State setup(const chess::Setup& given) const;
  State with_history(const chess::Setup& given, const Value& moves) const;
  void set_last(State& s, const Value& move) const;
  static void apply_move(State& s, chess::Move move);
  void play(State& s, chess::Move move) const;
  std::optional<chess::Move> legal_move(const State& s, const Value& word) const;
  void play_all(State& s, const Value& moves) const;
  Reason judge(const State& s) const;

  bool automatic_ = false;  // only fivefold repetition and seventy-five moves end the game
  Key salt_ = 0;
  State start_;
};

}  // namespace ramify
