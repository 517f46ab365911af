#include "harness/run/interrupt.h"

#include <ctime>

#include <csignal>

namespace sparkbench {
namespace {

// A signal handler may only use such variables of static storage.
volatile std::sig_atomic_t interrupt_seen = 0;
timespec first_at;  // written before interrupt_seen is set

double seconds_since(const timespec& then) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec - then.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec - then.tv_nsec);
}

void note_interrupt(int signal) {
  if (interrupt_seen == 0) {
    clock_gettime(CLOCK_MONOTONIC, &first_at);
    interrupt_seen = 1;
  } else if (seconds_since(first_at) > InterruptGuard::kSameSignalSeconds) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupt_seen = 0;
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

bool InterruptGuard::is_interrupted() const { return interrupt_seen != 0; }

}  // namespace sparkbench
