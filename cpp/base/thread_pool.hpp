// A few threads that wait for work and do it together.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace ramify {

class ThreadPool {
 public:
  // `threads` counts the caller, who works as number 0; 1 starts no thread at all.
  explicit ThreadPool(int threads) {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { loop(i); });
  }
  ~ThreadPool() {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls work(0) ... work(size - 1), each in its thread, and returns when all are done. The first exception of any
  // of them is thrown again here.
  void run(const std::function<void(int)>& work) {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      work_ = &work;
      running_ = static_cast<int>(workers_.size());
      ++round_;
    }
    wake_.notify_all();
    attempt(work, 0);
    std::unique_lock<std::mutex> guard(mutex_);
    done_.wait(guard, [this] { return running_ == 0; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void attempt(const std::function<void(int)>& work, int index) {
    try {
      work(index);
    } catch (...) {
      const std::lock_guard<std::mutex> guard(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  void loop(int index) {
    std::uint64_t seen = 0;
    while (true) {
      const std::function<void(int)>* work;
      {
        std::unique_lock<std::mutex> guard(mutex_);
        wake_.wait(guard, [&] { return stopping_ || round_ != seen; });
        if (stopping_) return;
        seen = round_;
        work = work_;
      }
      attempt(*work, index);
      const std::lock_guard<std::mutex> guard(mutex_);
      if (--running_ == 0) done_.notify_all();
    }
  }

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int)>* work_ = nullptr;
  std::exception_ptr error_;
  std::uint64_t round_ = 0;
  int running_ = 0;
  bool stopping_ = false;
};

}  // namespace ramify
