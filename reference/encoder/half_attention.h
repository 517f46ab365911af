// Attention in fp16 as a stage of a layer: the unfused computation, or a kernel on the emulated
// machine.
#pragma once

#include <functional>
#include <string>

#include "kernels/attention_kernel.h"
#include "reference/encoder/layer_math.h"

namespace sparkbench {

/// As the reference `unfused-fp16` computes it, every row and sum of a training step.
AttentionFunctions<float> unfused_attention(const Problem& problem,
                                            const TensorCores& tensor_cores);

/// By `kernel`, which supports the problem, on the emulated machine that `options` have. Rows
/// to compute begin and end with tiles of kSampleRows, or with the sequence. `report` is given what
/// each pass of it did, and outlives the functions.
AttentionFunctions<float> emulated_attention(const Problem& problem, const AttentionKernel& kernel,
                                             const EmulationOptions& options,
                                             std::function<void(const EmulationReport&)> report);

}  // namespace sparkbench
