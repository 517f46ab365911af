// The environment of a run: build, operating system, processor, libraries.
#pragma once

#include "harness/devices/device.h"
#include "results/record/run_record.h"

namespace sparkbench {

BuildInfo describe_build();

/// Driver and CUDA fields are null in a build without CUDA or on a machine without a driver.
Environment describe_environment(const Device& device);

/// The current time in UTC: "2026-11-21T07:06:58Z".
std::string utc_timestamp();

}  // namespace sparkbench
