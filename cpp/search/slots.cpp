#include "search/slots.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>

namespace ramify {
namespace {

// Room for so many in all, in steps that grow with the size.
void make_room(std::vector<std::int32_t>& list, std::size_t size) {
  if (list.capacity() < size) list.reserve(std::max(size, 2 * list.capacity()));
}

}  // namespace

void Slots::take(std::vector<std::int32_t>& to) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto recycled = std::min<std::size_t>(kChunk, free_.size());
  const std::int32_t capacity = capacity_.load(std::memory_order_relaxed), fresh = kChunk - static_cast<std::int32_t>(recycled);
  if (capacity > std::numeric_limits<std::int32_t>::max() - fresh) throw std::bad_alloc();
  make_room(free_, static_cast<std::size_t>(capacity + fresh));  // giving back must not fail
  make_room(to, to.size() + kChunk);
  for (std::int32_t i = fresh; i-- > 0;) to.push_back(capacity + i);  // taken from the back: the lowest first
  to.insert(to.end(), free_.end() - static_cast<std::ptrdiff_t>(recycled), free_.end());
  free_.resize(free_.size() - recycled);
  capacity_.store(capacity + fresh, std::memory_order_release);
  held_ += kChunk;
}

void Slots::give(const std::vector<std::int32_t>& slots) {
  if (slots.empty()) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  free_.insert(free_.end(), slots.rbegin(), slots.rend());
  held_ -= static_cast<std::int64_t>(slots.size());
}

std::int32_t SlotLease::take_anew() {
  const auto guard = lock();
  if (!slots_) throw std::logic_error("this search has given its slots back: it cannot go on");
  if (free_.empty()) {
    make_room(taken_, taken_.size() + Slots::kChunk);
    make_room(free_, taken_.capacity());  // giving back must not fail
    slots_->take(free_);
    taken_.insert(taken_.end(), free_.begin(), free_.end());
  }
  const std::int32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void SlotLease::give(std::int32_t slot) {
  const auto guard = lock();
  free_.push_back(slot);
}

void SlotLease::clear() {
  const auto guard = lock();
  if (slots_) slots_->give(taken_);
  taken_.clear();
  free_.clear();
}

}  // namespace ramify
