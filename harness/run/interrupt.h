// Ctrl-C, or a terminal that is closed, ends a sweep between two cases, with everything so far
// saved.
#pragma once

namespace sparkbench {

/// While it lives, SIGINT, SIGTERM and, unless nohup has it ignored, SIGHUP are noted instead of
/// ending the program. A second one ends it at once. Only one may live at a time.
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
