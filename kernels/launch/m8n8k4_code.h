// For which GPUs a build has the machine code of the kernels of m8n8k4, Volta's.
#pragma once

#include <string>
#include <string_view>

#include "kernels/launch/attention_kernel.h"

namespace sparkbench {

/// Whether a GPU of compute capability `sm` runs machine code of one of `architectures`, "70,75":
/// that of its own generation, or of an earlier one within it.
bool runs_code_of(std::string_view architectures, int sm);

/// As Support::why_not, of a device and a build with code for `architectures`; empty for an
/// emulated device and for a GPU with code.
std::string why_no_code(const KernelDevice& device, std::string_view architectures);

/// The same of this build.
std::string why_no_code(const KernelDevice& device);

}  // namespace sparkbench
