// The interpreter's lock (the GIL), taken and given away by threads that may still be at work when the interpreter ends.
//
// Up to Python 3.13 a thread that asks for the lock then is ended from within, by unwinding its stack, which no C++ code
// survives. Such threads wait here for the end of the process instead; docs/decisions/0024-ends-of-a-process.md.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>

namespace ramify {

namespace nb = nanobind;

// Gives the GIL away as long as it lives.
class GilRelease {
 public:
  GilRelease() : thread_(PyEval_SaveThread()) {}
  ~GilRelease();
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* thread_;
};

// Holds the GIL as long as it lives.
class GilAcquire {
 public:
  GilAcquire();
  ~GilAcquire() { PyGILState_Release(state_); }
  GilAcquire(const GilAcquire&) = delete;
  GilAcquire& operator=(const GilAcquire&) = delete;

 private:
  PyGILState_STATE state_;
};

// A call of the core that calls back into Python, as a game written there is called. The interpreter does not end before
// other threads have left theirs; see leave_if_exiting.
class PythonSection {
 public:
  explicit PythonSection(bool needs_python = true);
  ~PythonSection();
  PythonSection(const PythonSection&) = delete;
  PythonSection& operator=(const PythonSection&) = delete;

 private:
  bool counted_;
  std::uint64_t forks_;
};

// Raises SystemExit, which ends a thread silently, in every thread but the one that ends the interpreter.
void leave_if_exiting();

// Releases the GIL for the time of a call unless the game itself is written in Python.
class MaybeRelease {
 public:
  explicit MaybeRelease(bool needs_python) : section_(needs_python) {
    if (!needs_python) release_.emplace();
  }

 private:
  PythonSection section_;
  std::optional<GilRelease> release_;
};

// To be called once, when the module is loaded.
void watch_interpreter();

}  // namespace ramify
