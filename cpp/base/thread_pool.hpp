// A few threads that wait for work and do it together.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/fork.hpp"
#include "base/pause.hpp"

namespace ramify {

class ThreadPool {
 public:
  // `threads` counts the caller, who works as number 0; 1 starts no thread at all.
  explicit ThreadPool(int threads) : threads_(threads) { start(); }
  ~ThreadPool() { end(); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return threads_; }

  // Calls work(0) ... work(size - 1), each once, and returns when all are done. Every thread takes the next number that
  // nobody has taken: on a busy machine the caller does what the others have not begun, and does not wait for a thread
  // that the system has yet to run. The first exception of any of them is thrown again here.
  void run(const std::function<void(int)>& work) {
    if (!shared_ || forks_ != fork_count()) restart();
    shared_->note_pause();
    shared_->work = &work;
    shared_->unfinished = threads_;
    shared_->begin_round();
    if (shared_->sleeping > 0) {
      // A thread that is about to sleep holds the mutex until it can be notified.
      { const std::lock_guard<std::mutex> guard(shared_->mutex); }
      shared_->wake.notify_all();
    }
    shared_->work_off(0);
    const auto all_done = [this] { return shared_->unfinished == 0; };
    if (!shared_->spin(all_done)) {
      std::unique_lock<std::mutex> guard(shared_->mutex);
      shared_->done.wait(guard, all_done);
    }
    if (shared_->spins) shared_->ended = Clock::now();
    if (shared_->error) std::rethrow_exception(std::exchange(shared_->error, nullptr));
  }

 private:
  using Clock = std::chrono::steady_clock;

  // What the threads have in common. In a block of its own, so that a forked process, which has the block but not the
  // threads, can leave it as it is: a condition that others wait for cannot be destroyed.
  struct Shared {
    std::vector<std::thread> workers;
    std::mutex mutex;
    std::condition_variable wake, done;
    const std::function<void(int)>* work = nullptr;
    std::exception_ptr error;
    // The round, and in the lowest bits how many of its numbers are taken. One value, so that a thread which comes late
    // cannot take a number of a later round unseen.
    static constexpr int kBits = 16;
    std::atomic<std::uint64_t> taken{0};
    std::atomic<int> unfinished{0};  // numbers of the round that are not done
    std::atomic<int> sleeping{0};    // workers that have to be woken
    const int size;
    std::atomic<bool> stopping{false};
    bool spins = false;  // there is a core for every thread
    Clock::time_point ended{};              // when the latest round was done
    std::atomic<bool> soon_again{false};    // the latest pause between two rounds was short

    // Called by the one who gives out work, before a round.
    void note_pause() {
      if (spins) soon_again = Clock::now() - ended < kLong;
    }

    // Waits a moment for a condition, without sleep: work often comes in short pieces, and to wake many threads takes
    // longer than one of them. The moment is longer while pauses between rounds are such that it pays, as they are where
    // a GPU evaluates small batches. Returns whether the condition is met.
    static constexpr auto kShort = std::chrono::microseconds(200), kLong = std::chrono::microseconds(1000);
    template <class Condition>
    bool spin(Condition met) const {
      constexpr int kTurns = 64;  // between two looks at the clock
      if (met()) return true;
      if (!spins) return false;
      for (const auto end = Clock::now() + (soon_again ? kLong : kShort); Clock::now() < end;)
        for (int turn = 0; turn < kTurns; ++turn) {
          if (met()) return true;
          pause_briefly();
        }
      return false;
    }

    explicit Shared(int threads) : taken(static_cast<std::uint64_t>(threads)), size(threads) {}

    static int count(std::uint64_t state) { return static_cast<int>(state & ((std::uint64_t{1} << kBits) - 1)); }

    // Number 0 is the caller's.
    void begin_round() { taken = (((taken >> kBits) + 1) << kBits) + 1; }

    // The next number of the round that nobody has taken, or -1.
    int take() {
      std::uint64_t state = taken;
      while (count(state) < size)
        if (taken.compare_exchange_weak(state, state + 1)) return count(state);
      return -1;
    }

    // Does a number, and then those that nobody else takes.
    void work_off(int number) {
      for (; number >= 0; number = take()) {
        attempt(number);
        if (--unfinished == 0) {
          { const std::lock_guard<std::mutex> guard(mutex); }  // as in run
          done.notify_all();
        }
      }
    }

    void attempt(int number) {
      try {
        (*work)(number);
      } catch (...) {
        const std::lock_guard<std::mutex> guard(mutex);
        if (!error) error = std::current_exception();
      }
    }

    void loop() {
      const auto called = [&] { return stopping || count(taken) < size; };
      while (true) {
        if (!spin(called)) {
          std::unique_lock<std::mutex> guard(mutex);
          ++sleeping;
          wake.wait(guard, called);
          --sleeping;
        }
        if (stopping) return;
        work_off(take());
      }
    }
  };

  void start() {
    shared_ = std::make_unique<Shared>(threads_);
    shared_->spins = threads_ > 1 && static_cast<unsigned>(threads_) <= std::thread::hardware_concurrency();
    forks_ = fork_count();
    Shared* shared = shared_.get();
    try {
      for (int i = 1; i < threads_; ++i) shared->workers.emplace_back([shared] { shared->loop(); });
    } catch (const std::exception& error) {
      const std::size_t started = shared->workers.size();
      end();
      throw std::runtime_error("only " + std::to_string(started + 1) + " of " + std::to_string(threads_) +
                               " threads could be started (" + error.what() +
                               "): lower the setting threads, or raise the process's limits of threads and memory");
    }
  }

  void end() {
    if (!shared_) return;
    if (forks_ != fork_count()) return static_cast<void>(shared_.release());
    {
      const std::lock_guard<std::mutex> guard(shared_->mutex);
      shared_->stopping = true;
    }
    shared_->wake.notify_all();
    for (std::thread& worker : shared_->workers) worker.join();
    shared_.reset();
  }

  // In a forked process: new threads for those that stayed behind.
  void restart() {
    if (shared_ && shared_->unfinished > 0)
      throw std::runtime_error("this search was running when the process was forked: create a new one in this process");
    static_cast<void>(shared_.release());
    start();
  }

  const int threads_;
  std::uint64_t forks_ = 0;  // fork_count() when the threads were started
  std::unique_ptr<Shared> shared_;
};

}  // namespace ramify
