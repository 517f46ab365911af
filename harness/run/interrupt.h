// Ctrl-C, or closing the terminal, ends a sweep between two cases and saves everything so far.
#pragma once

namespace sparkbench {

/// During its lifetime SIGINT, SIGTERM and, unless nohup ignores it, SIGHUP are noted instead of
/// ending the program. A second one ends it at once. Only one instance may exist at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  bool is_interrupted() const;

 private:
  void (*old_interrupt_)(int);
  void (*old_terminate_)(int);
  void (*old_hangup_)(int);
};

}  // namespace sparkbench
