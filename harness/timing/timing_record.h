// Converts a timer's measurement to record fields and warnings.
#pragma once

#include "harness/timing/timing.h"
#include "results/record/run_record.h"

namespace sparkbench {

/// Sets times, noise, sampling, clocks, TFLOP/s and bandwidth. Needs the record's flops, bytes,
/// status and valid: an incorrect or invalid result gets times but no rates. Timed launches whose
/// outputs differ from the verified ones make the case incorrect (E-TIMED-OUTPUT). Warns with
/// W-THROTTLED, W-NOISY, W-NOT-HELD and W-CLOCK-UNKNOWN, and for impossible times
/// (impossible_numbers.h).
void record_timing(const Timing& timing, const DeviceInfo& device, CaseRecord& record);

}  // namespace sparkbench
