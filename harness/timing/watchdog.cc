#include "harness/timing/watchdog.h"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace sparkbench {
namespace {

void watch(const std::stop_token& stop, std::chrono::nanoseconds limit,
           const std::function<void()>& expire) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  const bool is_in_time =
      stopped.wait_for(lock, stop, limit, [&stop] { return stop.stop_requested(); });
  if (!is_in_time) expire();
}

}  // namespace

Watchdog::Watchdog(std::chrono::nanoseconds limit, std::function<void()> expire)
    : thread_([limit, expire = std::move(expire)](const std::stop_token& stop) {
        watch(stop, limit, expire);
      }) {}

}  // namespace sparkbench
