// The baseline `unfused-fp16` on the CPU: what an unfused training step computes in fp16, or in
// bf16. r() rounds each intermediate to the element type, as GPU memory does.
//   1  S = r(scale * Q K^T)        tensor cores; scale is the GEMM's alpha: fp32, then rounded
//   2  P = r(softmax(S + mask))    in fp32
//   3  P = r(keep_scale * P)       or 0 if dropped
//   4  O = r(P V)                  tensor cores
// Tensor cores round as the given profile says, with k ascending. A library with another order of k
// (split-k, several accumulators) has errors of the same size but other bits.
#pragma once

#include <span>

#include "kernels/problem/attention.h"
#include "reference/tensors/forward_rows.h"
#include "reference/unfused/tensor_core_matmul.h"

namespace sparkbench {

/// The requested rows, computed on all cores. A row without a visible key has o = 0, lse = -inf.
/// LSE is that of the rounded S, in fp32. Throws what check_forward throws.
ForwardRows unfused_forward(const Problem& problem, const ForwardInputs& inputs,
                            std::span<const QueryRow> rows, const TensorCores& tensor_cores);

}  // namespace sparkbench
