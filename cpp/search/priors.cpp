#include "search/priors.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ramify {
namespace {

// e^x for x <= 0 with a relative error below 2e-7, in a form that compilers turn into four lanes.
inline float exp_nonpositive(float x) {
  const float clamped = std::max(x, -87.0f);
  const float rounded = clamped * 1.44269504f + 12582912.0f;  // adding 1.5 * 2^23 rounds to a whole number
  const float n = rounded - 12582912.0f;
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(p) + (static_cast<std::int32_t>(n) << 23));
}

}  // namespace

bool softmax(LogitRow logits, const Action* actions, int count, float* out) {
  float top = -HUGE_VALF;
  bool finite = true;
  for (int i = 0; i < count; ++i) {
    out[i] = logits[actions[i]];
    finite &= std::isfinite(out[i]);
    top = out[i] > top ? out[i] : top;
  }
  if (!finite) return false;
  for (int i = 0; i < count; ++i) out[i] = exp_nonpositive(out[i] - top);
  float partial[4] = {0.0f, 0.0f, 0.0f, 0.0f};  // four sums: faster and more exact than one
  int i = 0;
  for (; i + 4 <= count; i += 4)
    for (int lane = 0; lane < 4; ++lane) partial[lane] += out[i + lane];
  for (; i < count; ++i) partial[0] += out[i];
  const float scale = 1.0f / ((partial[0] + partial[1]) + (partial[2] + partial[3]));
  for (int k = 0; k < count; ++k) out[k] *= scale;
  return true;
}

}  // namespace ramify
