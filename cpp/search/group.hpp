// Threads that work on many searches at once. A batch is made of parts, one per search, whose rows follow each other.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include "base/thread_pool.hpp"
#include "search/any_search.hpp"

namespace ramify {

// One search's share of a batch.
struct Part {
  AnySearch* search = nullptr;
  int batch = 0;  // the number of the batch within the search
  int leaves = 0;
  int rows = 0;   // of the leaves that are not in the cache
  int first = 0;  // its first row in the batch
};

class Group {
 public:
  explicit Group(int threads) : threads_(threads), ranges_(static_cast<std::size_t>(threads)) {}

  // Calls work(i) for every i below n, in these threads; `together` neighbours at a time, so that threads seldom meet.
  // A thread begins with the same numbers every time, whose searches may still be in its cache, and then helps others.
  template <class Work>
  void share(std::size_t n, std::size_t together, Work work) {
    share_pieces(n, together, [&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) work(i);
    });
  }

  // The same by pieces: calls work(first, end).
  template <class Work>
  void share_pieces(std::size_t n, std::size_t together, Work work) {
    const std::size_t pieces = (n + together - 1) / together, threads = ranges_.size();
    for (std::size_t t = 0; t < threads; ++t) {
      ranges_[t].next = pieces * t / threads * together;
      ranges_[t].end = std::min(n, pieces * (t + 1) / threads * together);
    }
    threads_.run([&](int index) {
      for (std::size_t t = 0; t < threads; ++t) {
        Range& range = ranges_[(static_cast<std::size_t>(index) + t) % threads];
        for (std::size_t i; (i = range.next.fetch_add(together)) < range.end;)
          work(i, std::min(i + together, range.end));
      }
    });
  }

  // Writes the rows that the parts have, one part after another; returns how many there are.
  int write(std::span<Part> parts, const BatchView& view, std::size_t together = 1) {
    int rows = 0;
    for (Part& part : parts) {
      part.first = rows;
      rows += part.rows;
    }
    share(parts.size(), together, [&](std::size_t i) {
      if (parts[i].rows) parts[i].search->write(parts[i].batch, view, parts[i].first);
    });
    return rows;
  }

  void absorb(std::span<const Part> parts, const EvaluationView& evaluation, std::size_t together = 1) {
    share(parts.size(), together, [&](std::size_t i) {
      if (parts[i].leaves) parts[i].search->absorb(parts[i].batch, evaluation, parts[i].first);
    });
  }

 private:
  struct alignas(64) Range {  // numbers that nobody has begun with
    std::atomic<std::size_t> next{0};
    std::size_t end = 0;
  };

  ThreadPool threads_;
  std::vector<Range> ranges_;  // by thread
};

}  // namespace ramify
