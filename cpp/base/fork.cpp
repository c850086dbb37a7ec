#include "base/fork.hpp"

#include <pthread.h>

namespace ramify {
namespace {

std::uint64_t forks = 0;  // written while a forked process has but one thread
const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });

}  // namespace

std::uint64_t fork_count() {
  static_cast<void>(registered);
  return forks;
}

}  // namespace ramify
