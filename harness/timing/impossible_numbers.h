// Times that cannot be: a slip of a harness, a kernel that does not do all of its work, a clock
// that lies. They look like records, and have been published.
#pragma once

#include <optional>

#include "results/record/run_record.h"

namespace sparkbench {

/// Makes the record not valid, with a warning that holds the number, when by its median time
///   W-ABOVE-PEAK-RATE       its useful FLOPs are more than the tensor cores of all SMs do at the
///                           highest clock
///   W-ABOVE-PEAK-BANDWIDTH  its compulsory bytes, less what the L2 cache may have had before and
///                           may still have after, are more than the memory delivers
///   W-BELOW-EMPTY-KERNEL    it took no longer than a kernel that does nothing, `least_ms`
/// What is not known of the device is not checked. Needs time_ms, flops and bytes.
void flag_impossible(const DeviceInfo& device, std::optional<double> least_ms, CaseRecord& record);

}  // namespace sparkbench
