// The errors the core raises; cpp/bind maps each to its Python class.
#pragma once

#include <stdexcept>
#include <string>

namespace ramify {

// A move that the rules do not allow here. The state is unchanged. Python: ramify.IllegalAction.
struct IllegalAction : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Anything else a caller handed in that cannot be used: a parameter, a FEN, an explicit position. Python: ValueError.
struct InvalidInput : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// An evaluator returned what cannot be used. Python: ramify.EvaluatorError.
struct EvaluatorError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace ramify
