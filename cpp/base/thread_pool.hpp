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

  // Calls work(0) ... work(size - 1), each in its thread, and returns when all are done. The first exception of any
  // of them is thrown again here.
  void run(const std::function<void(int)>& work) {
    if (!shared_ || forks_ != fork_count()) restart();
    shared_->note_pause();
    shared_->work = &work;
    shared_->running = threads_ - 1;
    ++shared_->round;
    if (shared_->sleeping > 0) {
      // A thread that is about to sleep holds the mutex until it can be notified.
      { const std::lock_guard<std::mutex> guard(shared_->mutex); }
      shared_->wake.notify_all();
    }
    shared_->attempt(work, 0);
    const auto all_done = [this] { return shared_->running == 0; };
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
    std::atomic<std::uint64_t> round{0};
    std::atomic<int> running{0};
    std::atomic<int> sleeping{0};  // workers that have to be woken
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

    void attempt(const std::function<void(int)>& task, int index) {
      try {
        task(index);
      } catch (...) {
        const std::lock_guard<std::mutex> guard(mutex);
        if (!error) error = std::current_exception();
      }
    }

    void loop(int index) {
      std::uint64_t seen = 0;
      const auto called = [&] { return stopping || round != seen; };
      while (true) {
        if (!spin(called)) {
          std::unique_lock<std::mutex> guard(mutex);
          ++sleeping;
          wake.wait(guard, called);
          --sleeping;
        }
        if (stopping) return;
        seen = round;  // the next round begins only when this one is done
        attempt(*work, index);
        if (--running == 0) {
          { const std::lock_guard<std::mutex> guard(mutex); }  // as in run
          done.notify_all();
        }
      }
    }
  };

  void start() {
    shared_ = std::make_unique<Shared>();
    shared_->spins = threads_ > 1 && static_cast<unsigned>(threads_) <= std::thread::hardware_concurrency();
    forks_ = fork_count();
    Shared* shared = shared_.get();
    try {
      for (int i = 1; i < threads_; ++i) shared->workers.emplace_back([shared, i] { shared->loop(i); });
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
    if (shared_ && shared_->running > 0)
      throw std::runtime_error("this search was running when the process was forked: create a new one in this process");
    static_cast<void>(shared_.release());
    start();
  }

  const int threads_;
  std::uint64_t forks_ = 0;  // fork_count() when the threads were started
  std::unique_ptr<Shared> shared_;
};

}  // namespace ramify
