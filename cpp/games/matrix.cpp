#include "games/matrix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.hpp"
#include "games/board.hpp"

namespace ramify {
namespace {

struct Table {
  std::size_t rows = 0, columns = 0;
  std::vector<float> numbers;
};

// Why a payoff table cannot be used; Params says whose it is.
struct Unusable {
  std::string wanted;
};

const Value::List* as_list(const Value& value) { return std::get_if<Value::List>(&value.data); }

float as_number(const Value& value) {
  float number = std::nanf("");
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) number = static_cast<float>(*whole);
  if (const auto* real = std::get_if<double>(&value.data)) number = static_cast<float>(*real);
  if (!std::isfinite(number)) throw Unusable{"made of finite numbers (" + describe(value) + " is not one)"};
  return number;
}

Table read_table(const Value& value) {
  Table table;
  const Value::List* rows = as_list(value);
  table.rows = rows ? rows->size() : 0;
  for (std::size_t i = 0; i < table.rows; ++i) {
    const Value::List* row = as_list((*rows)[i]);
    if (!row) throw Unusable{"a table: every row a list of numbers (row " + std::to_string(i) + " is not one)"};
    if (i == 0) table.columns = row->size();
    if (row->size() != table.columns)
      throw Unusable{"a table with rows of one length (row " + std::to_string(i) + " has " +
                     std::to_string(row->size()) + " entries, row 0 has " + std::to_string(table.columns) + ")"};
    for (const Value& number : *row) table.numbers.push_back(as_number(number));
  }
  const auto most = static_cast<std::size_t>(Matrix::kMaxActions);
  if (table.rows < 1 || table.columns < 1 || table.rows > most || table.columns > most)
    throw Unusable{"a table [n0][n1] or two of them [2][n0][n1], with n0 and n1 from 1 to " + std::to_string(most)};
  return table;
}

// One table per player.
std::array<Table, 2> read_tables(const Value& value) {
  const Value::List* outer = as_list(value);
  const Value::List* middle = outer && !outer->empty() ? as_list(outer->front()) : nullptr;
  if (!middle || middle->empty() || !as_list(middle->front())) {
    std::array<Table, 2> both{read_table(value), read_table(value)};
    for (float& number : both[1].numbers) number = 0.0f - number;  // never -0, which would print as such
    return both;
  }
  if (outer->size() != 2)
    throw Unusable{"two tables, one per player, where it is a list of tables (it has " +
                   std::to_string(outer->size()) + ")"};
  std::array<Table, 2> both{read_table((*outer)[0]), read_table((*outer)[1])};
  if (both[0].rows != both[1].rows || both[0].columns != both[1].columns)
    throw Unusable{"two tables of the same shape"};
  return both;
}

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

}  // namespace

Matrix::Matrix(Params& params) {
  const auto row = [](int a, int b, int c) { return Value(Value::List{a, b, c}); };
  const Value rock_paper_scissors = Value::List{row(0, -1, 1), row(1, 0, -1), row(-1, 1, 0)};
  const Value given = params.any("payoffs", rock_paper_scissors,
                                 "player 0's rewards [n0][n1] of a zero-sum game, or both players' [2][n0][n1]");
  try {
    const std::array<Table, 2> both = read_tables(given);
    counts_ = {static_cast<int>(both[0].rows), static_cast<int>(both[0].columns)};
    for (std::size_t i = 0; i < both[0].numbers.size(); ++i)
      table_.push_back({both[0].numbers[i], both[1].numbers[i]});
  } catch (const Unusable& reason) {
    params.fail("payoffs", given, reason.wanted);
  }
  widest_ = std::max(counts_[0], counts_[1]);
  domain_ = combine(hash_text(name), static_cast<Key>(counts_[0]));
  for (const Rewards& rewards : table_)
    for (float reward : rewards) domain_ = combine(domain_, std::bit_cast<std::uint32_t>(reward));
  stakes_ = {table_[0], table_[0], true};
  for (const Rewards& rewards : table_) {
    for (std::size_t p = 0; p < 2; ++p) {
      stakes_.least[p] = std::min(stakes_.least[p], rewards[p]);
      stakes_.most[p] = std::max(stakes_.most[p], rewards[p]);
    }
    stakes_.zero_sum = stakes_.zero_sum && rewards[0] == -rewards[1];
  }
}

void Matrix::observe(const State&, int player, float* out) const {
  const auto side = static_cast<std::size_t>(widest_), plane = side * side;
  const auto columns = static_cast<std::size_t>(counts_[1]);
  const auto viewer = static_cast<std::size_t>(player);
  std::fill(out, out + 2 * plane, 0.0f);
  for (std::size_t i = 0; i < table_.size(); ++i) {
    const std::size_t row = i / columns, column = i % columns;
    const std::size_t at = player == 0 ? row * side + column : column * side + row;
    out[at] = table_[i][viewer];
    out[plane + at] = table_[i][1 - viewer];
  }
}

std::string Matrix::text(const State& s) const {
  std::vector<std::string> entries;
  std::size_t width = 0;
  for (const Rewards& rewards : table_) {
    entries.push_back(describe(static_cast<double>(rewards[0])) + "," + describe(static_cast<double>(rewards[1])));
    width = std::max(width, entries.back().size());
  }
  std::string out = "    ";
  for (int j = 0; j < counts_[1]; ++j) out += "  " + padded(std::to_string(j), width);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(counts_[1]);
    if (i % static_cast<std::size_t>(counts_[1]) == 0) out += '\n' + padded(std::to_string(row), 4);
    out += "  " + padded(entries[i], width);
  }
  if (acting(s) == kBoth) return out + "\nboth to move";
  return out + "\nplayed " + std::to_string(s.played[0]) + " against " + std::to_string(s.played[1]);
}

Value::Dict Matrix::fields(const State& s) const {
  if (acting(s) == kBoth) return {{"played", Value()}};
  return {{"played", Value::List{int{s.played[0]}, int{s.played[1]}}}};
}

Matrix::State Matrix::parse(const Value::Dict& parts) const {
  const Value* played = part(parts, "played", {"played"}, name);
  State s;
  if (!played || played->is_null()) return s;
  const Value::List* actions = as_list(*played);
  for (std::size_t p = 0; p < 2; ++p) {
    const auto* action = actions && actions->size() == 2 ? std::get_if<std::int64_t>(&(*actions)[p].data) : nullptr;
    if (!action || *action < 0 || *action >= counts_[p])
      throw InvalidInput("matrix: played must be None or two actions, from 0 to " + std::to_string(counts_[0] - 1) +
                         " and from 0 to " + std::to_string(counts_[1] - 1) + ", not " + describe(*played));
    s.played[p] = static_cast<std::int16_t>(*action);
  }
  return s;
}

}  // namespace ramify
