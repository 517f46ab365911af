// Acts on operations that take too long.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace sparkbench {

class Watchdog {
 public:
  /// Calls `expire` on its own thread if `limit` passes before the destructor runs. `expire` must
  /// not throw.
  Watchdog(std::chrono::nanoseconds limit, std::function<void()> expire);
  /// Afterwards `expire` is not running and will not be called.
  ~Watchdog() = default;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::jthread thread_;
};

}  // namespace sparkbench
