// What --device names: one device, several, or all GPUs.
#pragma once

#include <string>
#include <vector>

namespace sparkbench {

/// "all" is every GPU of this machine; else a comma-separated list of what open_device() takes.
/// Throws UsageError for an empty name, a GPU that is named twice and "auto" beside others,
/// EnvironmentError for "all" without a GPU.
std::vector<std::string> list_devices(const std::string& flag);

}  // namespace sparkbench
