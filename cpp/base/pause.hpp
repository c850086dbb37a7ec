// A breath between two looks at what another thread is about to change.
#pragma once

namespace ramify {

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace ramify
