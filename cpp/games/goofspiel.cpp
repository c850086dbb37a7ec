#include "games/goofspiel.hpp"

#include <algorithm>

namespace ramify {
namespace {

std::string card_list(unsigned hand) {
  std::string out;
  for (; hand; hand &= hand - 1) out += " " + std::to_string(std::countr_zero(hand) + 1);
  return out;
}

// Both entries of a part that has one per player, or raises InvalidInput.
const Value::List& pair_of(const Value* part, std::string_view wanted) {
  const auto* list = part ? std::get_if<Value::List>(&part->data) : nullptr;
  if (!list || list->size() != 2)
    throw InvalidInput("goofspiel: " + std::string(wanted) + (part ? ", not " + describe(*part) : ""));
  return *list;
}

}  // namespace

Goofspiel::Goofspiel(Params& params) {
  cards_ = static_cast<int>(params.integer("cards", 4, 1, kMaxCards, "cards of each player, and prizes"));
  const std::string order = params.choice("points", "descending", {"descending", "ascending"}, "order of the prizes");
  const std::string kind = params.choice(
      "returns", "win", {"win", "difference"},
      "'win': 1, 0 or -1 at the end; 'difference': half the difference of points, turn by turn");
  descending_ = order == "descending";
  win_ = kind == "win";
  all_ = static_cast<std::uint16_t>((1u << cards_) - 1);
  const Key settings = static_cast<Key>(cards_) * 4 + static_cast<Key>(descending_) * 2 + static_cast<Key>(win_);
  domain_ = combine(hash_text(name), settings);
}

void Goofspiel::observe(const State& s, int player, float* out) const {
  const auto viewer = static_cast<std::size_t>(player);
  const int total = cards_ * (cards_ + 1) / 2;
  const int now = s.hands[0] ? prize(turn(s)) : 0;
  const auto lead = static_cast<float>(s.points[viewer] - s.points[1 - viewer]) / static_cast<float>(total);
  for (int card = 1; card <= cards_; ++card, ++out) {
    out[0] = static_cast<float>(s.hands[viewer] >> (card - 1) & 1);
    out[cards_] = static_cast<float>(s.hands[1 - viewer] >> (card - 1) & 1);
    out[2 * cards_] = now && (descending_ ? card <= now : card >= now) ? 1.0f : 0.0f;
    out[3 * cards_] = card == now ? 1.0f : 0.0f;
    if (win_) out[4 * cards_] = lead;
  }
}

std::vector<Symmetry> Goofspiel::symmetries() const {
  Symmetry identity{"identity", {}, {}, false};
  for (int i = 0; i < (4 + win_) * cards_; ++i) identity.observation.push_back(i);
  for (int a = 0; a < cards_; ++a) identity.actions.push_back(a);
  Symmetry swapped = identity;  // an observation belongs to a viewer, who sees the same after changing places
  swapped.name = "players swapped";
  swapped.swaps_players = true;
  return {identity, swapped};
}

std::string Goofspiel::text(const State& s) const {
  std::string out;
  for (std::size_t p = 0; p < 2; ++p)
    out += "player " + std::to_string(p) + ": " + std::to_string(s.points[p]) +
           (s.points[p] == 1 ? " point, cards" : " points, cards") + (s.hands[p] ? card_list(s.hands[p]) : " none") + '\n';
  if (!s.hands[0])
    return out + (s.points[0] == s.points[1] ? "draw" : s.points[0] > s.points[1] ? "player 0 has won" : "player 1 has won");
  out += "prize " + std::to_string(prize(turn(s)));
  if (turn(s) + 1 < cards_) out += ", then";
  for (int next = turn(s) + 1; next < cards_; ++next) out += " " + std::to_string(prize(next));
  return out;
}

Value::Dict Goofspiel::fields(const State& s) const {
  Value::List hands;
  for (unsigned hand : s.hands) {
    Value::List cards;
    for (; hand; hand &= hand - 1) cards.emplace_back(std::countr_zero(hand) + 1);
    hands.emplace_back(std::move(cards));
  }
  return {{"hands", std::move(hands)}, {"points", Value::List{int{s.points[0]}, int{s.points[1]}}}};
}

std::uint16_t Goofspiel::read_hand(const Value& cards) const {
  const std::string wanted = "goofspiel: a hand must be a list of different cards from 1 to " + std::to_string(cards_);
  const auto* list = std::get_if<Value::List>(&cards.data);
  if (!list) throw InvalidInput(wanted + ", not " + describe(cards));
  unsigned hand = 0;
  for (const Value& item : *list) {
    const auto* card = std::get_if<std::int64_t>(&item.data);
    if (!card || *card < 1 || *card > cards_ || (hand >> (*card - 1) & 1))
      throw InvalidInput(wanted + ", not " + describe(cards));
    hand |= 1u << (*card - 1);
  }
  return static_cast<std::uint16_t>(hand);
}

std::uint16_t Goofspiel::read_points(const Value& points) const {
  const auto* number = std::get_if<std::int64_t>(&points.data);
  if (!number || *number < 0 || *number > static_cast<std::int64_t>(kMaxPoints))
    throw InvalidInput("goofspiel: points must be whole numbers of at least 0, not " + describe(points));
  return static_cast<std::uint16_t>(*number);
}

// Whether some way of giving each prize so far to player 0, to player 1 or to nobody makes these points.
bool Goofspiel::can_have(const State& s) const {
  using Set = std::bitset<kMaxPoints + 1>;
  std::vector<Set> possible(kMaxPoints + 1);  // [points of player 0][points of player 1]
  possible[0][0] = true;
  for (int t = 0; t < turn(s); ++t) {
    const auto worth = static_cast<std::size_t>(prize(t));
    for (std::size_t p = kMaxPoints + 1; p-- > 0;)
      possible[p] |= possible[p] << worth | (p >= worth ? possible[p - worth] : Set());
  }
  return possible[s.points[0]][s.points[1]];
}

Goofspiel::State Goofspiel::parse(const Value::Dict& parts) const {
  State s;
  const auto find = [&](std::string_view wanted) { return part(parts, wanted, {"hands", "points"}, name); };
  const Value::List& hands = pair_of(find("hands"), "hands must be two lists of cards, one per player");
  s.hands = {read_hand(hands[0]), read_hand(hands[1])};
  if (const Value* points = find("points")) {
    const Value::List& both = pair_of(points, "points must be two whole numbers, one per player");
    s.points = {read_points(both[0]), read_points(both[1])};
  }
  if (std::popcount(s.hands[0]) != std::popcount(s.hands[1]))
    throw InvalidInput("goofspiel: both hands must have the same number of cards");
  if (std::has_single_bit(s.hands[0]) && cards_ > 1)
    throw InvalidInput("goofspiel: hands cannot have one card, because the last card is played together with the one before it");
  if (!can_have(s))
    throw InvalidInput("goofspiel: the " + std::to_string(turn(s)) + " prizes so far cannot make " +
                       std::to_string(s.points[0]) + " and " + std::to_string(s.points[1]) + " points");
  return s;
}

}  // namespace ramify
