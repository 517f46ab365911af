// Whether a build has all of the program's kernels, with their products where they belong.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/sass/kernel_inspection.h"

namespace sparkbench {

/// A line for each instance of the registry that the code for `sm` lacks, that has no tensor
/// instructions though it has products and `sm` its instruction, or that has some though it should
/// have none: where `sm` is too new, its products are fused multiply-adds. An `sm` that no kernel
/// of the instruction is compiled for (kernels/mma_instruction.h) is not asked for it. Of instances
/// whose id, or whose kernel's name, the glob matches; of an unknown name none.
std::vector<std::string> misplaced_instances(std::span<const KernelInspection> kernels, int sm,
                                             std::string_view glob = "*");

}  // namespace sparkbench
