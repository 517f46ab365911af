#include "harness/run/interrupt.h"

#include <csignal>

namespace sparkbench {
namespace {

// A signal handler may only use a variable of static storage.
volatile std::sig_atomic_t interrupt_seen = 0;

void note_interrupt(int signal) {
  interrupt_seen = 1;
  std::signal(signal, SIG_DFL);
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
