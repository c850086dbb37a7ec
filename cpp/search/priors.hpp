// From an evaluator's logits to priors over outcomes.
#pragma once

#include <cstdint>

#include "games/rules.hpp"

namespace ramify {

// Probabilities of `count` actions from the logits at their places: a softmax over just these. Returns false when a
// logit is not finite.
bool softmax(const float* logits, const Action* actions, int count, float* out);

}  // namespace ramify
