// From the errors of a layer's parts to the verdict in its record.
#pragma once

#include <vector>

#include "harness/plan/run_settings.h"
#include "reference/encoder/layer_errors.h"

namespace sparkbench {

/// Errors of the same parts of the unfused fp16 layer.
struct UnfusedLayer {
  const std::vector<PartError>& fp32;  // its attention's accumulators in FP32
  const std::vector<PartError>* same;  // in the kernel's type; null where no such one is at hand
};

/// Puts errors and verdict into the record. Every part is held to the same part of the unfused
/// layer with the kernel's accumulator, by the tolerance; where that is not at hand, and of the
/// unfused layer itself (`is_measure`), to being finite. over_unfused is over that with FP32
/// accumulators; a part that is over twice that, though it may be, is warned of
/// (kOverUnfusedWarning). Where the unfused layer itself errs by more than fp16 explains, the
/// record says so (W-REFERENCE-INACCURATE).
void judge_layer(const std::vector<PartError>& errors, const UnfusedLayer& unfused, bool is_measure,
                 const Tolerance& tolerance, CaseRecord& record);

}  // namespace sparkbench
