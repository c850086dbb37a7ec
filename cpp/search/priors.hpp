// From an evaluator's logits to priors over outcomes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "games/rules.hpp"

namespace ramify {

// Logits as an evaluator left them: floats, or the upper halves of floats (bfloat16), of which few are ever read.
struct LogitRow {
  const float* full = nullptr;
  const std::uint16_t* half = nullptr;
  LogitRow from(std::size_t place) const { return {full ? full + place : nullptr, half ? half + place : nullptr}; }
  float operator[](Action action) const {
    return half ? std::bit_cast<float>(std::uint32_t{half[action]} << 16) : full[action];
  }
};

// Probabilities of `count` actions from the logits at their places: a softmax over just these. Returns false when a
// logit is not finite.
bool softmax(LogitRow logits, const Action* actions, int count, float* out);

}  // namespace ramify
