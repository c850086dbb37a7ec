// 64-bit mixing: keys of states and seeds of random streams.
#pragma once

#include <cstdint>
#include <string_view>

namespace ramify {

using Key = std::uint64_t;

// The finaliser of SplitMix64: a bijection of 64-bit words in which every input bit reaches every output bit.
constexpr Key mix(Key x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Pseudo-random word number `index` of table `domain`: a Zobrist table that needs no memory.
constexpr Key zobrist(Key domain, Key index) { return mix(domain + (index + 1) * 0x9e3779b97f4a7c15ULL); }

// Order-dependent combination, for keys built from a sequence of parts.
constexpr Key combine(Key seed, Key part) { return mix(seed * 0x9e3779b97f4a7c15ULL + part + 0x2545f4914f6cdd1dULL); }

constexpr Key hash_text(std::string_view text) {
  Key h = 0xcbf29ce484222325ULL;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return mix(h);
}

}  // namespace ramify
