// What a fused kernel's plan of a pattern comes to: the lists of tiles that its forward pass walks.
#pragma once

#include <optional>

#include "kernels/attention_kernel.h"
#include "results/record/case_record.h"

namespace sparkbench {

/// Makes the lists, and times that. Sets the fields of MaskWork that are of a plan, over all heads;
/// pairs are counted after what a warp leaves out of a tile. False, and nothing is set, where the
/// problem has no pattern or the kernel has no lists for it.
bool add_pattern_plan(const AttentionKernel& kernel, const Problem& problem, MaskWork& work);

}  // namespace sparkbench
