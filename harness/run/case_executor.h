// Runs the cases of a plan: in this process (LocalCases) or in worker processes (WorkerPool).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/devices/device.h"
#include "results/record/run_record.h"

namespace sparkbench {

/// Callbacks while cases run.
class CaseEvents {
 public:
  virtual ~CaseEvents() = default;
  virtual void began(const CaseRecord& planned) = 0;
  virtual void ended(CaseRecord record) = 0;
  /// The output of a worker during a case that ended well.
  virtual void said(const std::string& text) = 0;
  /// Time has passed without an event.
  virtual void waited() {}
  /// Whether to stop now. A case that can be interrupted then counts as not begun.
  virtual bool is_stopped() const = 0;
};

class CaseExecutor {
 public:
  virtual ~CaseExecutor() = default;
  /// See PlannedSweep::plan().
  virtual const RunRecord& plan() const = 0;
  /// Runs the cases at these positions of the plan, on one device in this order. Cases of one
  /// problem should be adjacent. Throws EnvironmentError if no device is left, and whatever the
  /// events throw.
  virtual void run(const std::vector<std::size_t>& positions, CaseEvents& events) = 0;
  /// See PlannedSweep::take_outputs(); workers keep no outputs.
  virtual std::optional<PassOutputs> take_outputs() { return std::nullopt; }
};

}  // namespace sparkbench
