// One thread at a time. Calls of the core release the GIL, so that a second thread could come in meanwhile: it gets an
// error instead of a data race. Everything here is read and written with the GIL held, and needs no atomics.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "games/any.hpp"

namespace ramify {

// An object behind its guard: `use` is the only way to it. Take the lease before the GIL is released, so that it ends
// after the GIL is back.
template <class T>
class Guarded {
 public:
  Guarded(std::unique_ptr<T> object, const char* busy) : object_(std::move(object)), busy_(busy) {}

  class Lease {
   public:
    explicit Lease(const Guarded& of) : of_(&of) {
      if (of.leased_) throw std::runtime_error(of.busy_);
      of.leased_ = true;
    }
    Lease(Lease&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (of_) of_->leased_ = false;
    }
    T* operator->() const { return of_->object_.get(); }
    T& operator*() const { return *of_->object_; }

   private:
    const Guarded* of_;
  };

  // The object, for this call alone. Raises a RuntimeError while another call has it.
  Lease use() const { return Lease(*this); }

  // For Python's collector, which may come in the middle of a call and only looks.
  const T* peek() const { return object_.get(); }
  void clear() { object_.reset(); }

 private:
  std::unique_ptr<T> object_;
  const char* busy_;  // what a second caller is told
  mutable bool leased_ = false;
};

// The same for code in Python: `with exclusive:` raises RuntimeError(busy) where another is inside. In C++, because a
// signal that comes between entering and the block would leave a lock written in Python locked for good.
class Exclusive {
 public:
  explicit Exclusive(std::string busy) : busy_(std::move(busy)) {}
  void enter() {
    if (inside_) throw std::runtime_error(busy_);
    inside_ = true;
  }
  void leave() { inside_ = false; }

 private:
  std::string busy_;
  bool inside_ = false;
};

// Marks a native state that the core reads without the GIL: until this ends it must not change.
class ReadingState {
 public:
  explicit ReadingState(const AnyState& state);
  ~ReadingState();
  ReadingState(const ReadingState&) = delete;
  ReadingState& operator=(const ReadingState&) = delete;

 private:
  const AnyState* state_;
};

// Raises a RuntimeError if the core is reading the state in another thread.
void check_not_read(const AnyState& state);

}  // namespace ramify
