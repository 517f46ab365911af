// The baseline `unfused-fp16` on the CPU: what an unfused fp16 training step computes. Each
// intermediate is rounded to fp16, as in GPU memory.
//   1  S = fp16(scale * Q K^T)        tensor cores; scale is the GEMM's alpha: fp32, then rounded
//   2  P = fp16(softmax(S + mask))    in fp32
//   3  P = fp16(keep_scale * P)       or 0 if dropped
//   4  O = fp16(P V)                  tensor cores
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
ForwardRows unfused_fp16_forward(const Problem& problem, const ForwardInputs& inputs,
                                 std::span<const QueryRow> rows, const TensorCores& tensor_cores);

}  // namespace sparkbench
