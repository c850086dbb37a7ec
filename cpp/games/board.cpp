#include "games/board.hpp"

#include <algorithm>
#include <array>

namespace ramify {

std::string cell_name(int row, int column) {
  return static_cast<char>('a' + column) + std::to_string(row + 1);
}

std::vector<CellMap> square_maps(int side) {
  // (row, column) -> (a*row + b*column, c*row + d*column) on coordinates doubled and centred.
  struct Linear {
    const char* name;
    int a, b, c, d;
  };
  constexpr std::array<Linear, 8> kMaps{{{"identity", 1, 0, 0, 1},
                                         {"rotate 90", 0, 1, -1, 0},
                                         {"rotate 180", -1, 0, 0, -1},
                                         {"rotate 270", 0, -1, 1, 0},
                                         {"flip rows", -1, 0, 0, 1},
                                         {"flip columns", 1, 0, 0, -1},
                                         {"transpose", 0, 1, 1, 0},
                                         {"antitranspose", 0, -1, -1, 0}}};
  std::vector<CellMap> maps;
  for (const Linear& map : kMaps) {
    CellMap cells{map.name, {}};
    for (int row = 0; row < side; ++row)
      for (int column = 0; column < side; ++column) {
        const int r = 2 * row - side + 1, c = 2 * column - side + 1;
        const int new_row = (map.a * r + map.b * c + side - 1) / 2, new_column = (map.c * r + map.d * c + side - 1) / 2;
        cells.cell.push_back(new_row * side + new_column);
      }
    maps.push_back(std::move(cells));
  }
  return maps;
}

std::vector<Symmetry> board_symmetries(int planes, const std::vector<CellMap>& maps) {
  std::vector<Symmetry> symmetries;
  for (const CellMap& map : maps) {
    const std::size_t cells = map.cell.size();
    Symmetry symmetry{map.name, std::vector<std::int32_t>(cells * static_cast<std::size_t>(planes)),
                      std::vector<std::int32_t>(map.cell.begin(), map.cell.end()), false};
    for (std::size_t plane = 0; plane < static_cast<std::size_t>(planes); ++plane)
      for (std::size_t cell = 0; cell < cells; ++cell)
        symmetry.observation[plane * cells + static_cast<std::size_t>(map.cell[cell])] =
            static_cast<std::int32_t>(plane * cells + cell);
    symmetries.push_back(std::move(symmetry));
  }
  return symmetries;
}

Value board_rows(int rows, int columns, const std::function<char(int)>& symbol) {
  Value::List list;
  for (int row = 0; row < rows; ++row) {
    std::string line;
    for (int column = 0; column < columns; ++column) line += symbol(row * columns + column);
    list.emplace_back(std::move(line));
  }
  return list;
}

const Value* part(const Value::Dict& parts, std::string_view wanted, std::initializer_list<std::string_view> known,
                  std::string_view game) {
  const Value* found = nullptr;
  for (const auto& [key, value] : parts) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      std::string message = std::string(game) + ": a position has no part '" + key + "' (it has";
      for (std::string_view name : known) message += " " + std::string(name);
      throw InvalidInput(message + ")");
    }
    if (key == wanted) found = &value;
  }
  return found;
}

std::string board_cells(const Value::Dict& parts, int rows, int columns, std::string_view symbols,
                        std::string_view game) {
  const auto found = std::find_if(parts.begin(), parts.end(), [](const auto& entry) { return entry.first == "board"; });
  const std::string wanted = std::string(game) + ": board must be a list of " + std::to_string(rows) + " texts of " +
                             std::to_string(columns) + " characters out of '" + std::string(symbols) + "'";
  const auto* lines = found == parts.end() ? nullptr : std::get_if<Value::List>(&found->second.data);
  if (!lines || lines->size() != static_cast<std::size_t>(rows)) throw InvalidInput(wanted);
  std::string cells;
  for (const Value& line : *lines) {
    const auto* text = std::get_if<std::string>(&line.data);
    if (!text || text->size() != static_cast<std::size_t>(columns) ||
        text->find_first_not_of(symbols) != std::string::npos)
      throw InvalidInput(wanted + ", not " + describe(line));
    cells += *text;
  }
  return cells;
}

Value::List action_words(const Value& actions, std::string_view game) {
  if (const auto* list = std::get_if<Value::List>(&actions.data)) return *list;
  const auto* text = std::get_if<std::string>(&actions.data);
  if (!text) throw InvalidInput(std::string(game) + ": actions must be a text or a list, not " + describe(actions));
  Value::List words;
  std::string word;
  for (char c : *text + " ") {
    if (c != ' ' && c != ',' && c != '\n' && c != '\t') word += c;
    else if (!word.empty()) words.emplace_back(std::exchange(word, ""));
  }
  return words;
}

}  // namespace ramify
