// The cost of a fused kernel's plan for a pattern: the block lists of its forward pass.
#pragma once

#include <optional>

#include "kernels/launch/attention_kernel.h"
#include "results/record/case_record.h"

namespace sparkbench {

/// Builds the lists and measures how long that takes. Sets the plan's fields of MaskWork, over all
/// heads; pairs exclude what a warp skips within a tile. Returns false, and sets nothing, if the
/// problem has no pattern or the kernel has no lists for it.
bool add_pattern_plan(const AttentionKernel& kernel, const Problem& problem, MaskWork& work);

}  // namespace sparkbench
