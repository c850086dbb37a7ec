// Where a model keeps latent states: numbers of rows in one array, which all trees of a batch share, so that a whole
// batch is read and written with one index each. Which number a latent state has does not change what is found.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace ramify {

// All slots, for any number of searches in any threads.
class Slots {
 public:
  // Appends a few free slots. Those given back last come first, then the lowest ones that were never used.
  void take(std::vector<std::int32_t>& to);
  void give(const std::vector<std::int32_t>& slots);

  // Rows that the array needs: every slot ever taken is below it.
  std::int32_t capacity() const { return capacity_.load(std::memory_order_acquire); }
  std::int64_t held() const { return held_.load(std::memory_order_acquire); }  // taken and not given back

  static constexpr int kChunk = 8;  // slots taken at once, so that threads seldom wait for one another

 private:
  std::mutex mutex_;
  std::vector<std::int32_t> free_;
  std::atomic<std::int32_t> capacity_{0};
  std::atomic<std::int64_t> held_{0};
};

// The slots of one search, given back when it ends.
class SlotLease {
 public:
  SlotLease() = default;
  SlotLease(const SlotLease&) = delete;
  SlotLease& operator=(const SlotLease&) = delete;
  ~SlotLease() { clear(); }

  void open(std::shared_ptr<Slots> slots, bool threaded) {
    slots_ = std::move(slots);
    threaded_ = threaded;
  }
  // Gives everything back for good: the search may still be looked at, but not go on.
  void close() {
    clear();
    slots_.reset();
  }

  std::int32_t take() {
    if (threaded_ || free_.empty()) return take_anew();
    const std::int32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give(std::int32_t slot);
  void clear();  // gives everything back

 private:
  std::int32_t take_anew();
  std::unique_lock<std::mutex> lock() {
    return threaded_ ? std::unique_lock<std::mutex>(mutex_) : std::unique_lock<std::mutex>();
  }

  std::shared_ptr<Slots> slots_;
  bool threaded_ = false;  // whether several threads search this tree
  std::mutex mutex_;
  std::vector<std::int32_t> taken_;  // all of them
  std::vector<std::int32_t> free_;   // of these, the ones not in use
};

}  // namespace ramify
