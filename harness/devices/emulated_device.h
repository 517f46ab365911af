// GPUs that are not there: the same kernel source run lane by lane on the host, with the arithmetic
// of their tensor cores. Gives errors and counts, never a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/devices/device.h"

namespace sparkbench {

std::vector<std::string> emulated_device_names();

/// The first whose compute capability (70, 90, ...) is in the range; "" where there is none.
std::string_view emulated_device_between(int first_sm, int last_sm);

/// Throws std::invalid_argument for a name that is not in emulated_device_names().
std::unique_ptr<Device> open_emulated_device(std::string_view name);

}  // namespace sparkbench
