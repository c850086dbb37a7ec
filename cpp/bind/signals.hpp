// Signals that reach Python while the core computes.
#pragma once

#include <nanobind/nanobind.h>

#include "bind/interpreter.hpp"
#include "search/watcher.hpp"

namespace ramify {

namespace nb = nanobind;

// Lets Ctrl-C end a search, and everything else that a signal may raise pass.
class SignalWatcher final : public Watcher {
 public:
  bool stop() override {
    const GilAcquire acquire;
    if (PyErr_CheckSignals() == 0) return false;
    if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) throw nb::python_error();
    PyErr_Clear();
    return true;
  }
  bool forgives() override {
    try {
      throw;
    } catch (nb::python_error& error) {
      const GilAcquire acquire;
      return error.matches(PyExc_KeyboardInterrupt);
    } catch (...) {
      return false;
    }
  }
};

}  // namespace ramify
