// On what a run was made: the build, the operating system, the processor, the libraries.
#pragma once

#include "harness/devices/device.h"
#include "results/record/run_record.h"

namespace sparkbench {

BuildInfo describe_build();

/// The driver and CUDA fields are null in a build without CUDA or on a machine without a driver.
Environment describe_environment(const Device& device);

/// Now, in UTC: "2026-11-21T07:06:58Z".
std::string utc_timestamp();

}  // namespace sparkbench
