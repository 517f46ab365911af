// Detects impossible times: from an error in a harness, a kernel that skips work, or a wrong clock.
// They look like normal records, and some have been published.
#pragma once

#include <optional>

#include "results/record/run_record.h"

namespace sparkbench {

/// Makes a record invalid whose median time is impossible. The warning has the number:
///   W-ABOVE-PEAK-RATE       its useful FLOPs exceed what the tensor cores of all SMs do at the
///                           highest clock
///   W-ABOVE-PEAK-BANDWIDTH  its compulsory bytes, minus what the L2 cache may have held before and
///                           may still hold after, exceed what the memory transfers
///   W-BELOW-EMPTY-KERNEL    it took at most as long as an empty kernel, `least_ms`
/// Checks whose device values are unknown are skipped. Needs time_ms, flops and bytes.
void flag_impossible(const DeviceInfo& device, std::optional<double> least_ms, CaseRecord& record);

}  // namespace sparkbench
