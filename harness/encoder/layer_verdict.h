// Computes the verdict in a layer's record from the errors of its parts.
#pragma once

#include <vector>

#include "harness/plan/run_settings.h"
#include "reference/encoder/layer_errors.h"

namespace sparkbench {

/// Errors of the same parts of the unfused fp16 layer.
struct UnfusedLayer {
  const std::vector<PartError>& fp32;  // its attention's accumulators in FP32
  const std::vector<PartError>* same;  // with the kernel's accumulator; null if not available
};

/// Puts errors and verdict into the record. Every part is compared, with the tolerance, with the
/// part of the same name of the unfused layer with the kernel's accumulator. Without that, and for
/// the unfused layer itself (`is_measure`), a part need only be finite. over_unfused is relative to
/// FP32 accumulators; a correct part above twice that gets a warning (kOverUnfusedWarning). If the
/// unfused layer's own error exceeds what fp16 explains, the record says so
/// (W-REFERENCE-INACCURATE).
void judge_layer(const std::vector<PartError>& errors, const UnfusedLayer& unfused, bool is_measure,
                 const Tolerance& tolerance, CaseRecord& record);

}  // namespace sparkbench
