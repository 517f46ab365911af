// What to tell the owner of a GPU that a build has no code for.
#pragma once

#include <string>

#include "results/record/run_record.h"

namespace sparkbench {

/// In a line: which GPU, which architectures the build has, and how to build for it, with which
/// CUDA. `sm` is 10 * major + minor of its compute capability.
std::string why_no_code(const std::string& device, const std::string& gpu_name, int sm,
                        const BuildInfo& build);

}  // namespace sparkbench
