// Memory that is read soon is asked for ahead, so that nobody waits for it.
#pragma once

#include <cstddef>

namespace ramify {

// Fetches all lines of memory between two addresses. Any will do: what is not there is not fetched.
[[gnu::always_inline]] inline void fetch_until(const void* first, const void* end) {
  constexpr std::ptrdiff_t kLine = 64;
  if (first == end) return;
  for (auto place = static_cast<const char*>(first); place < static_cast<const char*>(end); place += kLine) __builtin_prefetch(place);
  __builtin_prefetch(static_cast<const char*>(end) - 1);  // the last line, if the first address is not at the start of one
}
[[gnu::always_inline]] inline void fetch_bytes(const void* first, std::size_t bytes) {
  fetch_until(first, static_cast<const char*>(first) + bytes);
}
template <class T>
[[gnu::always_inline]] inline void fetch_object(const T& object) {
  fetch_bytes(&object, sizeof(T));
}

}  // namespace ramify
