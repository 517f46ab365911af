// Runs cases in this process, one after the other, without protection from crashes.
#pragma once

#include "harness/plan/planned_sweep.h"
#include "harness/run/case_executor.h"

namespace sparkbench {

class LocalCases : public CaseExecutor {
 public:
  explicit LocalCases(PlannedSweep& sweep) : sweep_(sweep) {}

  const RunRecord& plan() const override { return sweep_.plan(); }
  void run(const std::vector<std::size_t>& positions, CaseEvents& events) override;
  std::optional<PassOutputs> take_outputs() override { return sweep_.take_outputs(); }

 private:
  PlannedSweep& sweep_;
};

}  // namespace sparkbench
