// Evaluations by key, for searches that share an evaluator: bounded, thread-safe, and exact. An entry holds the values and
// the priors as a node keeps them, so a node filled from the cache equals, bit for bit, one filled by its evaluation.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/hash.hpp"
#include "search/node.hpp"

namespace ramify {

class EvaluationCache {
 public:
  // Holds at most `capacity` evaluations, in sets of four by key: a new one replaces the least recently used of its set.
  // Takes memory as sets come into use.
  explicit EvaluationCache(std::size_t capacity);

  // What is stored belongs to one generation, that is, to one state of the evaluator's weights. `clear` begins the next.
  // An evaluation names the generation in which it was asked for and is not stored in a later one.
  std::uint32_t generation() const { return generation_.load(std::memory_order_acquire); }
  void clear() { generation_.fetch_add(1, std::memory_order_acq_rel); }

  // Writes the priors into a node's words, whose actions are there already, the values and the weight; false if they are not
  // known. An entry with other numbers of outcomes belongs to another position with the same key, and is not used.
  bool find(Key key, const Node& node, std::uint32_t* words, float (&values)[2], float& weight);
  // Takes over the priors of a node's words, in outcome order, the values and the weight (see Weights). Where memory has run
  // out, nothing is stored.
  void store(Key key, std::uint32_t generation, const Node& node, const std::uint32_t* words, const float (&values)[2],
             float weight);

  std::size_t capacity() const { return capacity_; }
  std::size_t size() const;   // entries of this generation; looks at every set
  std::size_t bytes() const;  // likewise

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kLocks = 64;

  struct Entry {
    Key key = 0;
    float values[2] = {0.0f, 0.0f};
    float weight = 1.0f;
    std::uint32_t generation = 0;  // 0: none
    std::uint16_t outcomes[2] = {0, 0};
    Acting acting = kOver;
    std::vector<std::uint16_t> priors;  // as in words, of both players; keeps its memory when the entry is replaced

    bool is_of(Key wanted, std::uint32_t current) const { return key == wanted && generation == current; }
  };
  struct alignas(64) Lock {
    std::mutex mutex;
  };

  std::size_t set_of(Key key) const {  // keys of games written in Python may be small numbers: mixed first
    return static_cast<std::size_t>((mix(key) >> 32) * sets_.size() >> 32);
  }
  std::mutex& lock_of(std::size_t set) const { return locks_[set % kLocks].mutex; }
  // Entries of a set; the last one has what is left of the capacity.
  std::size_t size_of(std::size_t set) const { return set + 1 < sets_.size() ? kWays : capacity_ - set * kWays; }
  template <class Work>
  void for_entries(Work work) const;

  std::size_t capacity_;
  std::vector<std::unique_ptr<Entry[]>> sets_;  // the most recently used entry first; null: nothing was stored yet
  std::atomic<std::uint32_t> generation_{1};
  mutable std::array<Lock, kLocks> locks_;
};

}  // namespace ramify
