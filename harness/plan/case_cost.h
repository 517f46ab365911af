// About how long a case will take. An estimate, for people who plan their day.
#pragma once

#include <vector>

#include "harness/devices/device.h"
#include "results/record/case_record.h"

namespace sparkbench {

class CaseCost {
 public:
  /// `measured`: cases of an earlier run, of which those with an elapsed time correct the
  /// estimates.
  CaseCost(const Device& device, const TimingOptions& timing,
           const std::vector<CaseRecord>& measured);

  /// Seconds: of the host, drawing inputs and checking (an emulated device: emulating) what the
  /// check plan samples at an assumed 1 GFLOP/s, and of a GPU at a third of its peaks, times what
  /// the measured cases took over what these rules say.
  double seconds(const CaseRecord& planned) const;

  bool is_corrected() const { return is_corrected_; }

 private:
  double rule(const CaseRecord& planned) const;
  double host_flops(const CaseRecord& planned) const;
  double sampling_seconds(double launch) const;
  double launch_seconds(const CaseRecord& planned) const;

  const DeviceInfo& device_;
  CheckBudget budget_;
  TimingOptions timing_;
  double correction_ = 1;
  bool is_corrected_ = false;
};

}  // namespace sparkbench
