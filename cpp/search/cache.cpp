#include "search/cache.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "base/error.hpp"

namespace ramify {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 31;  // sets are found by 32 bits of the key

std::size_t checked(std::size_t capacity) {
  if (capacity >= 1 && capacity <= kMost) return capacity;
  throw InvalidInput("the capacity of a cache must be from 1 to " + std::to_string(kMost) + ", not " +
                     std::to_string(capacity));
}

}  // namespace

EvaluationCache::EvaluationCache(std::size_t capacity)
    : capacity_(checked(capacity)), sets_(std::max<std::size_t>(1, capacity / kWays)) {}

bool EvaluationCache::find(Key key, const Node& node, std::uint32_t* words, float (&values)[2], float& weight) {
  const std::uint32_t current = generation();
  const std::size_t set = set_of(key);
  const std::lock_guard<std::mutex> guard(lock_of(set));
  if (!sets_[set]) return false;
  Entry *const first = sets_[set].get(), *const last = first + size_of(set);
  Entry* const entry = std::find_if(first, last, [&](const Entry& e) { return e.is_of(key, current); });
  // Copies, or gcc compares the neighbours in one wide read, which takes in the status that another thread may claim.
  const std::uint16_t first_outcomes = node.outcomes[0], second_outcomes = node.outcomes[1];
  if (entry == last || entry->acting != node.acting || entry->outcomes[0] != first_outcomes ||
      entry->outcomes[1] != second_outcomes)
    return false;
  for (std::size_t i = 0; i < entry->priors.size(); ++i)
    words[i] = static_cast<std::uint32_t>(entry->priors[i]) << 16 | (words[i] & 0xffffu);
  values[0] = entry->values[0], values[1] = entry->values[1];
  weight = entry->weight;
  std::rotate(first, entry, entry + 1);
  return true;
}

void EvaluationCache::store(Key key, std::uint32_t asked, const Node& node, const std::uint32_t* words,
                            const float (&values)[2], float weight) {
  const std::size_t set = set_of(key);
  const std::lock_guard<std::mutex> guard(lock_of(set));
  if (asked != generation()) return;
  const std::uint32_t count = word_count(node);
  Entry *first, *entry;
  try {
    if (!sets_[set]) sets_[set] = std::make_unique<Entry[]>(size_of(set));
    first = sets_[set].get();
    Entry* const last = first + size_of(set);
    entry = std::find_if(first, last, [&](const Entry& e) { return e.is_of(key, asked); });
    if (entry == last) --entry;  // not known yet: in place of the least recently used
    entry->generation = 0;
    entry->priors.resize(count);
  } catch (const std::bad_alloc&) {
    return;
  }
  for (std::uint32_t i = 0; i < count; ++i) entry->priors[i] = static_cast<std::uint16_t>(words[i] >> 16);
  entry->key = key;
  entry->acting = node.acting;
  for (int p = 0; p < 2; ++p) {
    entry->outcomes[p] = node.outcomes[p];
    entry->values[p] = values[p];
  }
  entry->weight = weight;
  entry->generation = asked;
  std::rotate(first, entry, entry + 1);
}

template <class Work>
void EvaluationCache::for_entries(Work work) const {
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    const std::lock_guard<std::mutex> guard(lock_of(set));
    for (std::size_t i = 0; sets_[set] && i < size_of(set); ++i) work(sets_[set][i]);
  }
}

std::size_t EvaluationCache::size() const {
  std::size_t count = 0;
  const std::uint32_t current = generation();
  for_entries([&](const Entry& e) { count += e.generation == current; });
  return count;
}

std::size_t EvaluationCache::bytes() const {
  std::size_t total = sets_.size() * sizeof(sets_[0]);
  for_entries([&](const Entry& e) { total += sizeof(Entry) + e.priors.capacity() * sizeof(std::uint16_t); });
  return total;
}

}  // namespace ramify
