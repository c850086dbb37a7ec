// What several board games share: names of cells, rows of text, symmetries of a grid, positions given as actions.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "games/rules.hpp"

namespace ramify {

constexpr Rewards win_for(int player) { return player == 0 ? Rewards{1.0f, -1.0f} : Rewards{-1.0f, 1.0f}; }

// "c2" = column c, row 2; rows count from the top as printed.
std::string cell_name(int row, int column);

// A map of the cells of a grid onto themselves: cell c goes to cell[c].
struct CellMap {
  std::string name;
  std::vector<int> cell;
};

// The eight symmetries of a square board; the identity first.
std::vector<CellMap> square_maps(int side);

// Symmetries of a game whose observation is `planes` grids of cells and whose actions are the cells.
std::vector<Symmetry> board_symmetries(int planes, const std::vector<CellMap>& maps);

// The board as a list of strings, one per row, top row first.
Value board_rows(int rows, int columns, const std::function<char(int)>& symbol);

// The part of that name, or null. Raises InvalidInput when a part is none of `known`.
const Value* part(const Value::Dict& parts, std::string_view wanted, std::initializer_list<std::string_view> known,
                  std::string_view game);

// The cells of parts["board"], row after row, each one of `symbols`; raises InvalidInput.
std::string board_cells(const Value::Dict& parts, int rows, int columns, std::string_view symbols,
                        std::string_view game);

// Words of an action list: a text such as "a1 b2", or a list of names or action numbers.
Value::List action_words(const Value& actions, std::string_view game);

// The position after a sequence of single actions from the start; raises InvalidInput at the first that is not legal.
template <Rules R>
typename R::State replay(const R& rules, const Value& actions) {
  typename R::State state = rules.initial(0);
  std::vector<Action> legal(static_cast<std::size_t>(rules.num_actions()));
  for (const Value& word : action_words(actions, R::name)) {
    const int player = rules.acting(state) == kSecond;
    const int count = rules.actions(state, player, legal.data());
    Action chosen = kNone;
    for (int i = 0; i < count; ++i) {
      const Action action = legal[static_cast<std::size_t>(i)];
      const auto* number = std::get_if<std::int64_t>(&word.data);
      const auto* text = std::get_if<std::string>(&word.data);
      if ((number && *number == action) || (text && *text == rules.action_name(state, player, action))) chosen = action;
    }
    if (chosen == kNone)
      throw InvalidInput(std::string(R::name) + ": " + describe(word) + " is not a legal action in\n" +
                         rules.text(state));
    Joint joint;
    joint.of[static_cast<std::size_t>(player)] = chosen;
    rules.apply(state, joint);
  }
  return state;
}

}  // namespace ramify
