#include "base/fork.hpp"

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace ramify {
namespace {

std::uint64_t forks = 0;  // written while a forked process has but one thread
#if !defined(_WIN32)  // where processes do not fork
const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
#else
const int registered = 0;
#endif

}  // namespace

std::uint64_t fork_count() {
  static_cast<void>(registered);
  return forks;
}

}  // namespace ramify
