// The message for a GPU that this build has no code for.
#pragma once

#include <string>

#include "results/record/run_record.h"

namespace sparkbench {

/// One line: the GPU, the build's architectures, and how to build for the GPU, with which CUDA.
/// `sm` is 10 * major + minor of its compute capability.
std::string why_no_code(const std::string& device, const std::string& gpu_name, int sm,
                        const BuildInfo& build);

}  // namespace sparkbench
