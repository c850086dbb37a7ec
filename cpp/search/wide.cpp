#include "search/wide.hpp"

#include <bit>
#include <cstddef>
#include <limits>

#if defined(__x86_64__)

#include <immintrin.h>

#define RAMIFY_AVX2 [[gnu::target("avx2")]]

namespace ramify {

bool has_wide_vectors() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2");
}

namespace {

RAMIFY_AVX2 inline __m256i eight(const std::uint32_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }

// The largest of eight, in all lanes.
RAMIFY_AVX2 inline __m256i top_of(__m256i all) {
  __m128i four = _mm_max_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm256_broadcastd_epi32(_mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}
RAMIFY_AVX2 inline __m256i unsigned_top_of(__m256i all) {
  __m128i four = _mm_max_epu32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm256_broadcastd_epi32(_mm_max_epu32(four, _mm_shuffle_epi32(four, 0xb1)));
}

// The scores of PUCT, as integers of the same order; a value that has no visits is the first-play urgency.
RAMIFY_AVX2 inline __m256i scores_of(__m256 q, __m256i visits, __m256i words, float u, float fpu) {
  const __m256i code = _mm256_and_si256(_mm256_srli_epi32(words, 4), _mm256_set1_epi32(0x0ffff000));
  const __m256 prior = _mm256_castsi256_ps(_mm256_or_si256(code, _mm256_set1_epi32(static_cast<int>(kPriorBase))));
  const __m256 divisor = _mm256_cvtepi32_ps(_mm256_add_epi32(visits, _mm256_set1_epi32(1)));
  const __m256 none = _mm256_castsi256_ps(_mm256_cmpeq_epi32(visits, _mm256_setzero_si256()));
  const __m256 value = _mm256_blendv_ps(q, _mm256_set1_ps(fpu), none);
  const __m256 score = _mm256_add_ps(value, _mm256_div_ps(_mm256_mul_ps(_mm256_set1_ps(u), prior), divisor));
  const __m256i bits = _mm256_castps_si256(score);
  return _mm256_xor_si256(bits, _mm256_srli_epi32(_mm256_srai_epi32(bits, 31), 1));
}
// The first lane that is set.
RAMIFY_AVX2 inline std::uint32_t first_of(__m256i lanes) {
  return static_cast<std::uint32_t>(std::countr_zero(static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(lanes)))));
}

// Running sums over edges, for both players: visits * value, and the visits of edges whose children have a value. The four
// lanes of a player are the two sums of two lanes that update_value has.
struct Sums {
  __m256d of[2];
  __m128i counts;
};
RAMIFY_AVX2 inline void add_four(Sums& sums, __m128i child, __m128i visits, __m128 first, __m128 second) {
  const __m128i counted = _mm_andnot_si128(_mm_srai_epi32(child, 31), visits);  // pending: none
  sums.counts = _mm_add_epi32(sums.counts, counted);
  const __m256d weights = _mm256_cvtepi32_pd(counted);
  sums.of[0] = _mm256_add_pd(sums.of[0], _mm256_mul_pd(weights, _mm256_cvtps_pd(first)));
  sums.of[1] = _mm256_add_pd(sums.of[1], _mm256_mul_pd(weights, _mm256_cvtps_pd(second)));
}

}  // namespace

RAMIFY_AVX2 std::uint32_t best_of_few(const float* q, const std::uint32_t* visits, const std::uint32_t* words,
                                      std::uint32_t opened, std::uint32_t count, float u, float fpu) {
  const __m256i lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  const __m256i tried = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(opened)), lane);
  const __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lane);
  const __m256i word = _mm256_maskload_epi32(reinterpret_cast<const int*>(words), there);
  const __m256i made = _mm256_maskload_epi32(reinterpret_cast<const int*>(visits), tried);
  const __m256i scores = _mm256_blendv_epi8(_mm256_set1_epi32(std::numeric_limits<std::int32_t>::min()),
                                            scores_of(_mm256_maskload_ps(q, tried), made, word, u, fpu), there);
  const __m256i tied = _mm256_and_si256(word, _mm256_cmpeq_epi32(scores, top_of(scores)));
  return first_of(_mm256_cmpeq_epi32(tied, unsigned_top_of(tied)));
}

// Three passes: all scores and the highest; the largest word that reaches it; where that word is. The last eight overlap those
// before them.
RAMIFY_AVX2 WideBest best_of_many(const float* q, const std::uint32_t* visits, const std::uint32_t* words, std::uint32_t n,
                                  float u, float fpu) {
  const std::uint32_t last = n - kWide;
  __m256i scores[kMany / kWide], tops = _mm256_set1_epi32(std::numeric_limits<std::int32_t>::min());
  for (std::uint32_t i = 0; i < n; i += kWide) {
    const std::uint32_t at = i < last ? i : last;
    scores[i / kWide] = scores_of(_mm256_loadu_ps(q + at), eight(visits + at), eight(words + at), u, fpu);
    tops = _mm256_max_epi32(tops, scores[i / kWide]);
  }
  tops = top_of(tops);
  __m256i tied = _mm256_setzero_si256();
  for (std::uint32_t i = 0; i < n; i += kWide) {
    const __m256i reached = _mm256_cmpeq_epi32(scores[i / kWide], tops);
    tied = _mm256_max_epu32(tied, _mm256_and_si256(eight(words + (i < last ? i : last)), reached));
  }
  tied = unsigned_top_of(tied);
  WideBest best{_mm256_cvtsi256_si32(tops), static_cast<std::uint32_t>(_mm256_cvtsi256_si32(tied)), 0};
  for (std::uint32_t i = 0;; i += kWide) {
    const std::uint32_t at = i < last ? i : last;
    const __m256i found = _mm256_cmpeq_epi32(eight(words + at), tied);
    if (_mm256_testz_si256(found, found)) continue;
    best.index = at + first_of(found);
    return best;
  }
}

namespace {

// The lanes of the last edges: two or three follow the fours before them, a single one belongs to the third lane.
alignas(16) constexpr std::int32_t kLast[4][4] = {{}, {0, 0, -1, 0}, {-1, -1, 0, 0}, {-1, -1, -1, 0}};

RAMIFY_AVX2 inline Sums begin_sums(const Node& node) {
  return {{_mm256_set_pd(0.0, 0.0, 0.0, static_cast<double>(node.evaluation[0])),
           _mm256_set_pd(0.0, 0.0, 0.0, static_cast<double>(node.evaluation[1]))},
          _mm_setzero_si128()};
}
RAMIFY_AVX2 inline void store_mean(Node& node, const Sums& sums) {
  const __m128i two = _mm_add_epi32(sums.counts, _mm_unpackhi_epi64(sums.counts, sums.counts));
  const auto counts = static_cast<std::uint64_t>(_mm_cvtsi128_si64(two));
  const auto total = static_cast<double>(1 + (counts & 0xffffffffu) + (counts >> 32));
  __m128d sum[2];
  for (int p = 0; p < 2; ++p) sum[p] = _mm_add_pd(_mm256_castpd256_pd128(sums.of[p]), _mm256_extractf128_pd(sums.of[p], 1));
  const __m128 mean = _mm_cvtpd_ps(_mm_div_pd(_mm_hadd_pd(sum[0], sum[1]), _mm_set1_pd(total)));
  store(node.value[0], mean[0]);
  store(node.value[1], mean[1]);
}

}  // namespace

RAMIFY_AVX2 void update_value_wide(Node& node, const std::uint32_t* block, std::uint32_t capacity) {
  Sums sums = begin_sums(node);
  const auto* child = reinterpret_cast<const int*>(block);
  const int* visits = child + capacity;
  const auto* first = reinterpret_cast<const float*>(visits + capacity);
  const float* second = first + capacity;
  const std::ptrdiff_t last = node.opened & 3u, end = static_cast<std::ptrdiff_t>(node.opened) - last;
  for (std::ptrdiff_t e = 0; e < end; e += 4)
    add_four(sums, _mm_loadu_si128(reinterpret_cast<const __m128i*>(child + e)),
             _mm_loadu_si128(reinterpret_cast<const __m128i*>(visits + e)), _mm_loadu_ps(first + e), _mm_loadu_ps(second + e));
  if (last) {
    const __m128i mask = _mm_load_si128(reinterpret_cast<const __m128i*>(kLast[last]));
    const std::ptrdiff_t e = last == 1 ? end - 2 : end;
    add_four(sums, _mm_maskload_epi32(child + e, mask), _mm_maskload_epi32(visits + e, mask),
             _mm_maskload_ps(first + e, mask), _mm_maskload_ps(second + e, mask));
  }
  store_mean(node, sums);
}

RAMIFY_AVX2 void update_value_wide(Node& node, std::uint32_t* block, std::uint32_t capacity, std::uint32_t edge, float new_first,
                                   float new_second) {
  auto* child = reinterpret_cast<int*>(block);
  const int* visits = child + capacity;
  auto* first = reinterpret_cast<float*>(block + 2 * capacity);
  float* second = first + capacity;
  const auto write = [&] {
    block[edge] &= ~kPending;
    first[edge] = new_first;
    second[edge] = new_second;
  };
  if (node.opened > kWide) {  // others are added meanwhile
    write();
    return update_value_wide(node, block, capacity);
  }
  Sums sums = begin_sums(node);
  const __m128 firsts = _mm_set1_ps(new_first), seconds = _mm_set1_ps(new_second);
  const __m128i lanes = _mm_sub_epi32(_mm_set_epi32(3, 2, 1, 0), _mm_set1_epi32(static_cast<int>(edge)));  // 0 is the edge's
  const std::ptrdiff_t last = node.opened & 3u, end = static_cast<std::ptrdiff_t>(node.opened) - last;
  for (std::ptrdiff_t e = 0; e < end; e += 4) {
    const __m128i own = _mm_cmpeq_epi32(lanes, _mm_set1_epi32(static_cast<int>(-e)));
    add_four(sums, _mm_andnot_si128(own, _mm_loadu_si128(reinterpret_cast<const __m128i*>(child + e))),
             _mm_loadu_si128(reinterpret_cast<const __m128i*>(visits + e)),
             _mm_blendv_ps(_mm_loadu_ps(first + e), firsts, _mm_castsi128_ps(own)),
             _mm_blendv_ps(_mm_loadu_ps(second + e), seconds, _mm_castsi128_ps(own)));
  }
  if (last) {
    const __m128i mask = _mm_load_si128(reinterpret_cast<const __m128i*>(kLast[last]));
    const std::ptrdiff_t e = last == 1 ? end - 2 : end;
    const __m128i own = _mm_and_si128(_mm_cmpeq_epi32(lanes, _mm_set1_epi32(static_cast<int>(-e))), mask);
    add_four(sums, _mm_andnot_si128(own, _mm_maskload_epi32(child + e, mask)), _mm_maskload_epi32(visits + e, mask),
             _mm_blendv_ps(_mm_maskload_ps(first + e, mask), firsts, _mm_castsi128_ps(own)),
             _mm_blendv_ps(_mm_maskload_ps(second + e, mask), seconds, _mm_castsi128_ps(own)));
  }
  write();
  store_mean(node, sums);
}

}  // namespace ramify

#else

namespace ramify {

bool has_wide_vectors() { return false; }
std::uint32_t best_of_few(const float*, const std::uint32_t*, const std::uint32_t*, std::uint32_t, std::uint32_t, float, float) {
  return 0;
}
WideBest best_of_many(const float*, const std::uint32_t*, const std::uint32_t*, std::uint32_t, float, float) { return {}; }
void update_value_wide(Node&, const std::uint32_t*, std::uint32_t) {}
void update_value_wide(Node&, std::uint32_t*, std::uint32_t, std::uint32_t, float, float) {}

}  // namespace ramify

#endif
