// Chess as people write it: names of moves, the board as text, positions as plain data.
#include "base/error.hpp"
#include "games/board.hpp"
#include "games/chess/chess.hpp"

namespace ramify {

using namespace chess;

namespace {

constexpr std::array<const char*, 8> kReasons{"",
                                              "checkmate",
                                              "insufficient_material",
                                              "stalemate",
                                              "fifty_moves",
                                              "seventy_five_moves",
                                              "threefold_repetition",
                                              "fivefold_repetition"};

std::string uci(Move move, Square flip) {
  std::string out = square_name(move.from ^ flip) + square_name(move.to ^ flip);
  if (move.promotion != kPawn) out += piece_letter(true, move.promotion);
  return out;
}

// The mover's side of the squares and the promotion of a move in UCI notation, if that is what the text is.
std::optional<Move> read_uci(std::string_view text, Square flip) {
  const auto square = [&](std::size_t at) {
    const int file = text[at] - 'a', rank = text[at + 1] - '1';
    return file >= 0 && file < 8 && rank >= 0 && rank < 8 ? 8 * rank + file : -1;
  };
  if (text.size() != 4 && text.size() != 5) return std::nullopt;
  const Square from = square(0), to = square(2);
  if (from < 0 || to < 0 || from == to) return std::nullopt;
  Move move{static_cast<std::uint8_t>(from ^ flip), static_cast<std::uint8_t>(to ^ flip), kPawn, kPawn};
  if (text.size() == 5) {
    const std::size_t piece = std::string_view("nbrq").find(text[4]);
    if (piece == std::string_view::npos) return std::nullopt;
    move.promotion = static_cast<Kind>(kKnight + piece);
  }
  return move;
}

const std::string& text_of(const Value& value, const char* name) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  throw InvalidInput("chess: " + std::string(name) + " must be a text, not " + describe(value));
}

Value text_or_null(const char* text) { return *text ? Value(text) : Value(); }

// A part that follows from the others may be given, but must agree.
void check_derived(const Value::Dict& given, const Value::Dict& truth, const char* name) {
  const auto find = [&](const Value::Dict& dict) {
    return std::find_if(dict.begin(), dict.end(), [&](const auto& entry) { return entry.first == name; });
  };
  if (const auto part = find(given); part != given.end())
    if (const std::string told = describe(part->second), is = describe(find(truth)->second); told != is)
      throw InvalidInput("chess: " + std::string(name) + " is " + is + " in this position, not " + told);
}

}  // namespace

std::string Chess::action_name(const State& s, int player, Action action) const {
  const auto path = path_of(action);
  if (!path) return "off board";
  Position p = s.position;
  if (p.black != (player == 1)) p.turn();
  Move move{static_cast<std::uint8_t>(path->from), static_cast<std::uint8_t>(path->to), kPawn, path->underpromotion};
  const bool pawn = p.own & p.of[kPawn] & bit(path->from);
  if (pawn && move.promotion == kPawn && bit(path->to) & kRank8) move.promotion = kQueen;
  return uci(move, p.flip());
}

std::string Chess::text(const State& s) const {
  Position p = s.position;
  if (p.black) p.turn();
  std::string out;
  for (int rank = 7; rank >= 0; --rank) {
    out += static_cast<char>('1' + rank);
    out += ' ';
    for (Square square = 8 * rank; square < 8 * rank + 8; ++square) {
      out += ' ';
      out += p.occupied() >> square & 1 ? piece_letter(p.theirs >> square & 1, p.kind_at(square)) : '.';
    }
    out += '\n';
  }
  out += "   a b c d e f g h\n";
  const std::string mover = s.position.black ? "black" : "white", other = s.position.black ? "white" : "black";
  if (s.reason == kCheckmate) return out + "checkmate: " + other + " wins";
  if (s.reason != kGoesOn) {
    std::string reason = kReasons[s.reason];
    std::replace(reason.begin(), reason.end(), '_', ' ');
    return out + "draw: " + reason;
  }
  return out + mover + " to move" + (s.position.in_check() ? ", in check" : "");
}

Value::Dict Chess::fields(const State& s) const {
  std::string history;
  for (std::size_t i = 0; i < s.length; ++i)
    history += (i ? " " : "") + square_name(s.history[i].from()) + square_name(s.history[i].to());
  return {{"fen", write_fen({s.position, s.clock, s.number})},
          {"history", std::move(history)},
          {"last_move", s.has_last ? Value(uci(s.last, s.position.flip() ^ kMirror)) : Value()},
          {"check", s.position.in_check()},
          {"reason", text_or_null(kReasons[s.reason])}};
}

Chess::State Chess::parse(const Value::Dict& parts) const {
  const auto get = [&](std::string_view wanted) {
    return part(parts, wanted, {"fen", "history", "last_move", "check", "reason", "moves"}, name);
  };
  const Value* fen = get("fen");
  const Setup given = parse_fen(fen ? std::string_view(text_of(*fen, "fen")) : kStart);
  const Value* history = get("history");
  State s = history ? with_history(given, *history) : setup(given);
  if (const Value* last = get("last_move"); last && !last->is_null()) set_last(s, *last);
  const Value::Dict truth = fields(s);
  check_derived(parts, truth, "check");
  check_derived(parts, truth, "reason");
  if (const Value* moves = get("moves")) play_all(s, *moves);
  return s;
}

Chess::State Chess::setup(const Setup& given) const {
  State s;
  s.position = given.position;
  s.clock = static_cast<std::uint16_t>(given.clock);
  s.number = static_cast<std::uint16_t>(given.number);
  s.reason = judge(s);
  return s;
}

// Takes the moves back, then plays them again by the rules: only a true history arrives at the given position.
Chess::State Chess::with_history(const Setup& given, const Value& moves) const {
  const Value::List words = action_words(moves, name);
  if (words.empty()) return setup(given);
  const auto require = [](bool true_history, const std::string& otherwise) {
    if (!true_history)
      throw InvalidInput("chess: history must be moves without captures, pawn moves and loss of castling rights that "
                         "lead to the position; " + otherwise);
  };
  require(static_cast<std::size_t>(given.clock) >= words.size(),
          std::to_string(words.size()) + " moves do not fit a half-move clock of " + std::to_string(given.clock));
  Setup before = given;
  Position& p = before.position;
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    p.turn();
    const auto move = read_uci(text_of(*word, "a move of the history"), p.flip());
    require(move && p.own & bit(move->to) && !(p.occupied() & bit(move->from)),
            describe(*word) + " cannot be taken back");
    const Bitboard squares = bit(move->from) | bit(move->to);
    p.of[p.kind_at(move->to)] ^= squares;
    p.own ^= squares;
    before.number -= p.black;
    before.clock -= 1;
  }
  p.en_passant = 0;
  const std::string why = impossible(p, 0);
  require(why.empty(), "before them, " + why);
  p.key = p.full_key();
  State s = setup(before);
  play_all(s, moves);
  require(s.length == words.size() && s.position.key == given.position.key, describe(moves) + " does not");
  return s;
}

void Chess::set_last(State& s, const Value& value) const {
  const Square flip = s.position.flip() ^ kMirror;
  const auto move = read_uci(text_of(value, "last_move"), flip);
  if (!move)
    throw InvalidInput("chess: last_move must be a move in UCI notation such as e2e4, not " + describe(value));
  Position p = s.position;
  p.turn();
  const bool arrived = p.own & bit(move->to) && !(p.occupied() & bit(move->from));
  const bool known = s.has_last && uci(s.last, flip) != uci(*move, flip);
  const bool passed = !s.position.en_passant || move->to == (s.position.en_passant ^ kMirror) + 8;
  if (!arrived || known || !passed)
    throw InvalidInput("chess: last_move " + describe(value) + " does not lead to this position");
  s.last = *move;
  s.last.kind = p.kind_at(move->to);
  s.has_last = true;
}

std::optional<Move> Chess::legal_move(const State& s, const Value& word) const {
  std::array<Move, kMaxMoves> moves;
  const int count = s.reason ? 0 : legal_moves(s.position, moves.data());
  const auto* number = std::get_if<std::int64_t>(&word.data);
  const auto* text = std::get_if<std::string>(&word.data);
  for (int i = 0; i < count; ++i)
    if ((number && *number == action_of(moves[i])) || (text && *text == uci(moves[i], s.position.flip())))
      return moves[i];
  return std::nullopt;
}

void Chess::play_all(State& s, const Value& moves) const {
  for (const Value& word : action_words(moves, name)) {
    const auto move = legal_move(s, word);
    if (!move) throw InvalidInput("chess: " + describe(word) + " is not a legal move in\n" + text(s));
    play(s, *move);
  }
}

}  // namespace ramify
