// What built this module, for `ramify doctor`, the benchmarks and the sanitizer runs.
#pragma once

#include <nanobind/nanobind.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RAMIFY_UNDER_ASAN 1
#elif __has_feature(thread_sanitizer)
#define RAMIFY_UNDER_TSAN 1
#endif
#endif

namespace ramify {

inline nanobind::dict build_info() {
  nanobind::dict info;
#if defined(__clang__)
  info["compiler"] = "clang " __clang_version__;
#elif defined(__GNUC__)
  info["compiler"] = "gcc " __VERSION__;
#else
  info["compiler"] = "unknown";
#endif
#if defined(__x86_64__) || defined(_M_X64)
  info["architecture"] = "x86-64";
#elif defined(__aarch64__) || defined(_M_ARM64)
  info["architecture"] = "arm64";
#else
  info["architecture"] = "unknown";
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(RAMIFY_UNDER_ASAN)
  info["sanitizer"] = "address";
#elif defined(__SANITIZE_THREAD__) || defined(RAMIFY_UNDER_TSAN)
  info["sanitizer"] = "thread";
#else
  info["sanitizer"] = "none";
#endif
  return info;
}

}  // namespace ramify
