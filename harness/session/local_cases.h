// Cases run in this process, one after the other: nothing shields it from what they do.
#pragma once

#include "harness/session/case_executor.h"
#include "harness/session/planned_sweep.h"

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
