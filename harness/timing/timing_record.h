// From what a timer measured to the fields of a record, and what there is to warn of.
#pragma once

#include "harness/timing/timing.h"
#include "results/record/run_record.h"

namespace sparkbench {

/// Times, noise, sampling, clocks, TFLOP/s and bandwidth. Needs the record's flops, bytes, status
/// and valid: what is incorrect or says nothing about the kernel has times, but no rates. Warns
/// with W-THROTTLED, W-NOISY, W-NOT-HELD and W-CLOCK-UNKNOWN, and of what is impossible
/// (impossible_numbers.h).
void record_timing(const Timing& timing, const DeviceInfo& device, CaseRecord& record);

}  // namespace sparkbench
