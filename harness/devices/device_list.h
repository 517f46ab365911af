// The devices that --device names: one, several, or all GPUs.
#pragma once

#include <string>
#include <vector>

namespace sparkbench {

/// "all" is every GPU of this machine; otherwise a comma-separated list of open_device() names.
/// Throws UsageError for an empty name, a duplicate GPU, and "auto" with other names;
/// EnvironmentError for "all" without a GPU.
std::vector<std::string> list_devices(const std::string& flag);

}  // namespace sparkbench
