// Memory for millions of small blocks that live and die together: bump allocation in large chunks, addressed by 32-bit
// offsets (in units of 8 bytes) so that links are half the size of pointers. Sizes are in words of 4 bytes. Freed blocks are
// kept for blocks of the same size; everything is released at once.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "base/fetch.hpp"

namespace ramify {

using Offset = std::uint32_t;  // in units of 8 bytes; 0 means "none"

// What an arena raises where its offsets end, however much memory there is.
struct ArenaFull : std::bad_alloc {
  const char* what() const noexcept override { return "a search graph can have at most 16 GiB"; }
};

class Arena {
 public:
  static constexpr Offset kEnd = 1u << 31;  // offsets stay below, so that users may mark links in the highest bit

  Arena() : chunks_(new std::uint64_t*[kChunks]) {}  // not initialised: most searches use one or two
  ~Arena() {
    clear();
    if (!count_) return;
    std::uint64_t* memory = chunks_[0];
    if (!spare_chunks(true).keep(memory)) std::free(memory);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  template <class T>
  T* at(Offset offset) const {
    // The chunk was published before any offset into it was handed out.
    return reinterpret_cast<T*>(__atomic_load_n(&chunks_[offset >> kChunkBits], __ATOMIC_RELAXED) + (offset & kChunkMask));
  }

  // A run of `units` units inside one chunk, starting at an even offset (16-byte aligned); of up to `most`, if there is room in
  // the chunk: then `units` is what it has. Thread-safe.
  Offset slab(std::uint32_t& units, std::uint32_t most = 0) {
    if (units > kChunkUnits - 2) throw ArenaFull();
    const std::lock_guard<std::mutex> guard(mutex_);
    if (room_ < units) {
      const std::uint32_t number = count_;
      if (number >= most_chunks()) throw ArenaFull();
      std::uint64_t* memory = new_chunk(number == 0);
      __atomic_store_n(&chunks_[number], memory, __ATOMIC_RELEASE);
      ++count_;
      next_ = number << kChunkBits;
      room_ = kChunkUnits;
      if (number == 0) take(2);  // offset 0 stays free to mean "none"
    }
    units = std::max((units + 1) & ~1u, std::min(most, room_) & ~1u);  // even: the next one starts at its end
    return take(units);
  }

  // Fetches from memory what says where the chunks are.
  void fetch() const { __builtin_prefetch(chunks_.get()); }

  // How much of it was ever handed out, in words, blocks that were released since included.
  std::uint64_t taken() const { return std::uint64_t{next_} * 2; }

  // Everything is free again; the first chunk stays, for what comes next.
  void clear() {
    for (std::uint32_t number = 1; number < count_; ++number) {
      std::uint64_t* memory = chunks_[number];
      if (!spare_chunks(false).keep(memory)) std::free(memory);
    }
    count_ = std::min(count_, 1u);
    next_ = 2;  // offset 0 stays free to mean "none"
    room_ = count_ ? kChunkUnits - 2 : 0;
  }

  void swap(Arena& other) {
    std::swap(chunks_, other.chunks_);
    std::swap(next_, other.next_);
    std::swap(room_, other.room_);
    std::swap(count_, other.count_);
  }

  // Makes every arena end after so many bytes, rounded up to whole chunks; for tests, which cannot fill 16 GiB.
  static void limit_bytes(std::uint64_t bytes) {
    constexpr std::uint64_t kChunkBytes = std::uint64_t{kChunkUnits} * 8;
    most_chunks() = static_cast<std::uint32_t>(std::min<std::uint64_t>((bytes + kChunkBytes - 1) / kChunkBytes, kChunks));
  }

 private:
  static constexpr int kChunkBits = 19;  // chunks of 4 MiB, of which only touched pages cost memory
  static constexpr std::uint32_t kChunkUnits = 1u << kChunkBits;
  static constexpr std::uint32_t kChunkMask = kChunkUnits - 1;
  static constexpr std::uint32_t kChunks = kEnd >> kChunkBits;

  static std::atomic<std::uint32_t>& most_chunks() {
    static std::atomic<std::uint32_t> chunks{kChunks};
    return chunks;
  }

  // Chunks of arenas that are gone, for arenas to come: searches would spend a tenth of their time on fresh pages
  // otherwise. First chunks, which lie in small pages, are kept apart from others.
  class SpareChunks {
   public:
    explicit SpareChunks(std::size_t most) : most_(most) { chunks_.reserve(most); }
    bool keep(std::uint64_t* memory) {
      const std::unique_lock<std::mutex> guard(mutex_, std::try_to_lock);
      if (!guard || chunks_.size() >= most_) return false;
      chunks_.push_back(memory);
      return true;
    }
    std::uint64_t* take() {
      const std::unique_lock<std::mutex> guard(mutex_, std::try_to_lock);
      if (!guard || chunks_.empty()) return nullptr;
      std::uint64_t* memory = chunks_.back();
      chunks_.pop_back();
      return memory;
    }

   private:
    const std::size_t most_;
    std::mutex mutex_;  // only tried: a process may have been forked while a thread, now gone, held it
    std::vector<std::uint64_t*> chunks_;
  };
  static SpareChunks& spare_chunks(bool first) {
    constexpr std::size_t kFirst = 4, kOthers = 16;  // 64 MiB of others: a search of 100,000 simulations in Hex 11x11
    static SpareChunks& small = *new SpareChunks(kFirst);  // never destroyed: threads may search until the process is gone
    static SpareChunks& large = *new SpareChunks(kOthers);
    return first ? small : large;
  }

  // A large graph is walked at random: huge pages spare most of its page faults and misses of the address cache. A
  // small one, whose first chunk is hardly touched, would pay for them in memory.
  static std::uint64_t* new_chunk(bool first) {
    constexpr std::size_t kBytes = std::size_t{kChunkUnits} * 8, kHugePage = std::size_t{1} << 21;
    if (std::uint64_t* spare = spare_chunks(first).take()) return spare;
#if defined(_WIN32)  // there what is aligned is freed in another way, and huge pages are for administrators
    static_cast<void>(kHugePage);
    auto* memory = static_cast<std::uint64_t*>(std::malloc(kBytes));
#else
    auto* memory = static_cast<std::uint64_t*>(first ? std::malloc(kBytes) : std::aligned_alloc(kHugePage, kBytes));
#endif
    if (!memory) throw std::bad_alloc();
#if defined(__linux__)
    if (!first) madvise(memory, kBytes, MADV_HUGEPAGE);  // advice: no harm if it is not taken
#endif
    return memory;
  }

  Offset take(std::uint32_t units) {
    const Offset start = next_;
    next_ += units;
    room_ -= units;
    return start;
  }

  std::unique_ptr<std::uint64_t*[]> chunks_;
  alignas(64) std::mutex mutex_;  // apart from what every look at a node reads: threads write what follows
  Offset next_ = 0;
  std::uint32_t room_ = 0;  // units left in the last chunk
  std::uint32_t count_ = 0;
};

// One thread's way into an arena: takes slabs and cuts blocks from them without locking. Aligned, or the allocators of two
// threads that lie side by side would share a cache line that both write at every block.
class alignas(64) Allocator {
 public:
  // `beside_others`: other threads cut from the same arena. Then slabs grow with what was taken, up to a huge page, or all would
  // wait whenever the system clears the page in which all their slabs lie.
  explicit Allocator(Arena& arena, bool beside_others = false) : arena_(&arena), beside_others_(beside_others) {}

  Offset allocate(std::uint32_t words) {
    const std::uint32_t units = (words + 1) / 2;
    used_ += units;
    if (units < kClasses && free_[units]) return pop(free_[units]);
    return cut(units);
  }

  void release(Offset block, std::uint32_t words) {
    const std::uint32_t units = (words + 1) / 2;
    used_ -= units;
    if (units < kClasses) push(free_[units], block);  // large blocks wait for the next clear
  }

  // Blocks at even offsets, so that users may mark links to them in the lowest bit. All have the same size.
  Offset allocate_even(std::uint32_t words) {
    const std::uint32_t units = (words + 1) / 2;
    used_ += units;
    if (free_even_) return pop(free_even_);
    if (next_ & 1) push(free_[1], next_++);  // slabs end at even offsets
    return cut(units);
  }
  void release_even(Offset block, std::uint32_t words) {
    used_ -= (words + 1) / 2;
    push(free_even_, block);
  }

  // Fetches from memory what small blocks are cut from.
  void fetch() const {
    constexpr std::size_t kSmall = 128;  // bytes of what leads to the smallest blocks
    fetch_bytes(this, kSmall);
    fetch_until(&free_even_, this + 1);
  }

  // Bytes in blocks that are in use; negative contributions of other threads' blocks are possible, sums are right.
  std::int64_t bytes() const { return used_ * 8; }

  // Goes on where another allocator of the same arena stopped.
  void adopt(const Allocator& other) {
    free_ = other.free_;
    free_even_ = other.free_even_;
    next_ = other.next_;
    end_ = other.end_;
    used_ = other.used_;
    taken_ = other.taken_;
  }

  // Forgets everything; the arena was cleared or replaced.
  void reset() {
    free_.fill(0);
    free_even_ = 0;
    next_ = end_ = 0;
    used_ = 0;
    taken_ = 0;
  }

 private:
  Offset pop(Offset& list) const {
    const Offset block = list;
    list = *arena_->at<Offset>(block);
    return block;
  }
  void push(Offset& list, Offset block) const {
    *arena_->at<Offset>(block) = list;
    list = block;
  }
  Offset cut(std::uint32_t units) {
    if (units > end_ - next_) return cut_anew(units);
    const Offset block = next_;
    next_ += units;
    return block;
  }
  [[gnu::noinline]] Offset cut_anew(std::uint32_t units) {
    std::uint32_t size = kSlabUnits;
    try {
      if (units > kSlabUnits / 4) return arena_->slab(units);
      next_ = arena_->slab(size, beside_others_ ? std::min(taken_ / 4, kMostUnits) : 0);
    } catch (...) {
      used_ -= units;
      throw;
    }
    end_ = next_ + size;
    taken_ += size;
    const Offset block = next_;
    next_ += units;
    return block;
  }

  static constexpr std::uint32_t kSlabUnits = 1u << 12;
  static constexpr std::uint32_t kMostUnits = 1u << 18;  // 2 MiB
  static constexpr std::uint32_t kClasses = 512;

  Arena* arena_;
  bool beside_others_;
  std::array<Offset, kClasses> free_{};  // by units
  Offset free_even_ = 0;
  Offset next_ = 0, end_ = 0;
  std::int64_t used_ = 0;
  std::uint32_t taken_ = 0;  // units of all slabs
};

}  // namespace ramify
