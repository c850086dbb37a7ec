// How the outside may end a long computation.
#pragma once

namespace ramify {

class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual bool stop() = 0;         // asked now and then; may throw
  virtual bool forgives() = 0;     // inside a catch: whether what was thrown means "stop" and nothing worse
};

}  // namespace ramify
