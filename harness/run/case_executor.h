// What runs the cases of a plan: this process (LocalCases) or worker processes (WorkerPool).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/devices/device.h"
#include "results/record/run_record.h"

namespace sparkbench {

/// What happens while cases run.
class CaseEvents {
 public:
  virtual ~CaseEvents() = default;
  virtual void began(const CaseRecord& planned) = 0;
  virtual void ended(CaseRecord record) = 0;
  /// What a worker printed during a case that ended well.
  virtual void said(const std::string& text) = 0;
  /// Time has passed and nothing has happened.
  virtual void waited() {}
  /// Whether to stop: now, where a case can be broken off, and then it is as if it had not begun.
  virtual bool is_stopped() const = 0;
};

class CaseExecutor {
 public:
  virtual ~CaseExecutor() = default;
  /// As PlannedSweep::plan().
  virtual const RunRecord& plan() const = 0;
  /// Runs the cases at these positions of the plan; on one device in this order. Cases of one
  /// problem should be neighbours. Throws EnvironmentError when no device is left to run on, and
  /// whatever the events throw.
  virtual void run(const std::vector<std::size_t>& positions, CaseEvents& events) = 0;
  /// As PlannedSweep::take_outputs(); workers keep none.
  virtual std::optional<PassOutputs> take_outputs() { return std::nullopt; }
};

}  // namespace sparkbench
