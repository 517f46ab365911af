// Ctrl-C, or closing the terminal, ends a sweep between two cases and saves everything so far.
#pragma once

namespace sparkbench {

/// During its lifetime SIGINT, SIGTERM and, unless nohup ignores it, SIGHUP are noted instead of
/// ending the program. One that comes more than kSameSignalSeconds after the first ends it at once.
/// One that comes sooner is the same: timeout(1) signals a command by itself and with its group.
/// Only one instance may exist at a time.
class InterruptGuard {
 public:
  static constexpr double kSameSignalSeconds = 0.3;

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
