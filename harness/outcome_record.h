// From what a run did to the fields of its record.
#pragma once

#include "harness/device.h"
#include "results/case_record.h"

namespace sparkbench {

/// Time, noise, sampling, TFLOP/s, memory and counts of `outcome`.
void record_outcome(const RunOutcome& outcome, const DeviceInfo& device, CaseRecord& record);

/// Errors against the exact result, and where the worst one is.
Accuracy make_accuracy(const ErrorMetrics& error, const Problem& problem,
                       const std::vector<QueryRow>& rows);

/// "shared_race at forward.h:120, block (0,0,0), thread 3: ..."
std::string describe(const Finding& finding);

}  // namespace sparkbench
