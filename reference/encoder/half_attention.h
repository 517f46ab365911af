// Attention in fp16 as a stage of a layer: the unfused computation, or a kernel on the emulated
// machine.
#pragma once

#include <functional>
#include <string>

#include "kernels/launch/attention_kernel.h"
#include "reference/encoder/layer_math.h"

namespace sparkbench {

/// The baseline `unfused-fp16`, for every row and sum of a training step.
AttentionFunctions<float> unfused_attention(const Problem& problem,
                                            const TensorCores& tensor_cores);

/// Attention by `kernel`, which must support the problem, on the emulated machine of `options`. The
/// requested rows begin and end at tiles of kSampleRows, or at the sequence's end. `report`
/// receives the counters of each pass and must outlive the functions.
AttentionFunctions<float> emulated_attention(const Problem& problem, const AttentionKernel& kernel,
                                             const EmulationOptions& options,
                                             std::function<void(const EmulationReport&)> report);

}  // namespace sparkbench
