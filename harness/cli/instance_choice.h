// --kernel of `inspect` and `predict`: a glob of kernels or of their instances.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sparkbench {

/// For a glob that selects none of the instances: the kernel or the instance that was meant, and
/// the kernels that there are. Names of one kernel's instances begin with its name and a slash.
std::string unknown_instance_message(std::string_view glob, std::span<const std::string> instances);

}  // namespace sparkbench
