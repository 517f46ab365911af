// Does something about what takes too long.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace sparkbench {

class Watchdog {
 public:
  /// Calls `expire` on a thread of its own when `limit` passes before the destructor does.
  /// `expire` must not throw.
  Watchdog(std::chrono::nanoseconds limit, std::function<void()> expire);
  /// After this `expire` will not be called, nor is it still running.
  ~Watchdog() = default;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::jthread thread_;
};

}  // namespace sparkbench
