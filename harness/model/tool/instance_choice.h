// --kernel of `inspect` and `predict`: a glob for kernels or for their instances.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sparkbench {

/// For a glob that selects no instance: the nearest kernel or instance, and the existing kernels.
/// Names of a kernel's instances begin with its name and a slash.
std::string unknown_instance_message(std::string_view glob, std::span<const std::string> instances);

}  // namespace sparkbench
