#include "bind/interpreter.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "base/fork.hpp"

namespace ramify {
namespace {

constexpr auto kLongestWait = std::chrono::seconds(2);  // for a call of a game written in Python to return

std::atomic<bool> exiting{false};  // the interpreter is about to end
std::atomic<bool> ended{false};    // there is no interpreter any more
std::thread::id exiting_thread;    // written before `exiting`
std::atomic<int> sections{0};
std::atomic<std::uint64_t> sections_forks{0};

[[noreturn]] void wait_for_exit() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Takes the lock; comes back with it or not at all.
template <class Take>
void take_lock(Take take) noexcept {
  if (ended) wait_for_exit();
  try {
    take();
  } catch (...) {  // the unwinding of pthread_exit, which must not go on: through destructors it would abort
    wait_for_exit();
  }
}

// Runs when Python is about to end, in the thread that ends it and while others still may run.
void before_exit() {
  using Clock = std::chrono::steady_clock;
  exiting_thread = std::this_thread::get_id();
  exiting = true;
  if (sections_forks != fork_count()) return;
  const auto deadline = Clock::now() + kLongestWait;
  while (sections > 0 && Clock::now() < deadline) {
    const GilRelease release;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

GilRelease::~GilRelease() {
  take_lock([this] { PyEval_RestoreThread(thread_); });
}

GilAcquire::GilAcquire() {
  take_lock([this] { state_ = PyGILState_Ensure(); });
}

PythonSection::PythonSection(bool needs_python) : counted_(needs_python), forks_(fork_count()) {
  if (!counted_) return;
  if (sections_forks.exchange(forks_) != forks_) sections = 0;  // those of threads that did not come along
  ++sections;
}

PythonSection::~PythonSection() {
  if (counted_ && forks_ == sections_forks) --sections;
}

void leave_if_exiting() {
  if (!exiting.load(std::memory_order_acquire) || std::this_thread::get_id() == exiting_thread) [[likely]] return;
  PyErr_SetNone(PyExc_SystemExit);
  throw nb::python_error();
}

void watch_interpreter() {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&before_exit));
  Py_AtExit([] { ended = true; });
}

}  // namespace ramify
