// Cells as plain data.
#pragma once

#include <optional>

#include "base/value.hpp"

namespace ramify::pyrat {

// The cell that a list [x, y] names on a board of that size, if it is such a list.
std::optional<int> listed_cell(const Value& value, int width, int height);

}  // namespace ramify::pyrat
