// Emulated GPUs: the same kernel source runs lane by lane on the host, with the arithmetic of the
// GPU's tensor cores. Gives errors and counts, never a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/devices/device.h"

namespace sparkbench {

std::vector<std::string> emulated_device_names();

/// The first with a compute capability (70, 90, ...) in the range; "" if there is none.
std::string_view emulated_device_between(int first_sm, int last_sm);

/// Throws std::invalid_argument for a name outside emulated_device_names().
std::unique_ptr<Device> open_emulated_device(std::string_view name);

}  // namespace sparkbench
