#include "search/priors.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/lanes.hpp"

namespace ramify {
namespace {

// e^x for x <= 0 with a relative error below 2e-7, of one number or of four.
template <class Float, class Bits>
inline Float exp_nonpositive(Float x) {
  const Float clamped = x < -87.0f ? Float{} - 87.0f : x;
  const Float rounded = clamped * 1.44269504f + 12582912.0f;  // adding 1.5 * 2^23 rounds to a whole number
  const Float n = rounded - 12582912.0f;
  const Float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;
  Float p = Float{} + 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // `rounded` has n in its lowest bits, and nothing above them that the shift leaves.
  return std::bit_cast<Float>(std::bit_cast<Bits>(p) + (std::bit_cast<Bits>(rounded) << 23));
}

void put4(float* to, Float4 numbers) { std::memcpy(to, &numbers, sizeof numbers); }

// Whether these are a, a + 1, a + 2 ...: all that is legal in a learned model, and much of it on an open board.
bool consecutive(const Action* actions, int count) {
  std::int32_t differences = 0;
  for (int i = 0; i < count; ++i) differences |= (actions[i] - actions[0]) ^ i;
  return differences == 0;
}

inline float number(float logit) { return logit; }
inline float number(std::uint16_t half) { return std::bit_cast<float>(std::uint32_t{half} << 16); }

template <class T>
void read(const T* logits, const Action* actions, int count, float* out) {
  if (consecutive(actions, count))
    for (int i = 0; i < count; ++i) out[i] = number(logits[actions[0] + i]);
  else
    for (int i = 0; i < count; ++i) out[i] = number(logits[actions[i]]);
}

// The largest of the numbers, and whether all are finite.
std::pair<float, bool> largest(const float* x, int count) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  float top = x[0];
  std::uint32_t infinite = 0;
  int i = 0;
  if (count >= 4) {
    Float4 tops = lanes<Float4>(x);
    Uint4 bad{};
    for (; i + 4 <= count; i += 4) {
      const Float4 four = lanes<Float4>(x + i);
      tops = max4(tops, four);
      bad |= std::bit_cast<Uint4>((std::bit_cast<Uint4>(four) & kExponent) == kExponent);
    }
    top = ramify::top(tops);
    infinite = joined(bad);
  }
  for (; i < count; ++i) {
    infinite |= !std::isfinite(x[i]);
    top = x[i] > top ? x[i] : top;
  }
  return {top, infinite == 0};
}

}  // namespace

bool softmax(LogitRow logits, const Action* actions, int count, float* out) {
  if (logits.half) read(logits.half, actions, count, out);
  else read(logits.full, actions, count, out);
  const auto [top, finite] = largest(out, count);
  if (!finite) return false;
  Float4 partial{};  // four sums: faster and more exact than one
  int i = 0;
  for (; i + 4 <= count; i += 4) {
    const Float4 four = exp_nonpositive<Float4, Uint4>(lanes<Float4>(out + i) - top);
    put4(out + i, four);
    partial += four;
  }
  for (; i < count; ++i) {
    out[i] = exp_nonpositive<float, std::uint32_t>(out[i] - top);
    partial[0] += out[i];
  }
  const float scale = 1.0f / ((partial[0] + partial[1]) + (partial[2] + partial[3]));
  for (int k = 0; k < count; ++k) out[k] *= scale;
  return true;
}

}  // namespace ramify
