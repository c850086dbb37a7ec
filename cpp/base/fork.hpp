// Whether this process is a fork of the one in which something was made: threads do not come along.
#pragma once

#include <cstdint>

namespace ramify {

// Forks between the process that loaded this module and this one. Cheap: counted when a process forks.
std::uint64_t fork_count();

}  // namespace ramify
