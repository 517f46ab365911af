#include "harness/run/interrupt.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace sparkbench {
namespace {

// A signal handler may only use lock-free atomics of static storage.
std::atomic<std::int64_t> first_ns = 0;  // when the first signal came; 0: none has
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

void note_interrupt(int signal) {
  const std::int64_t now = now_ns();
  std::int64_t first = 0;
  if (first_ns.compare_exchange_strong(first, now)) return;
  if (1e-9 * static_cast<double>(now - first) <= InterruptGuard::kSameSignalSeconds) return;
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  first_ns = 0;
  old_interrupt_ = std::signal(SIGINT, note_interrupt);
  old_terminate_ = std::signal(SIGTERM, note_interrupt);
  old_hangup_ = std::signal(SIGHUP, note_interrupt);
  if (old_hangup_ == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, old_interrupt_);
  std::signal(SIGTERM, old_terminate_);
  std::signal(SIGHUP, old_hangup_);
}

bool InterruptGuard::is_interrupted() const { return first_ns != 0; }

}  // namespace sparkbench
