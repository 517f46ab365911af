// The baseline `unfused-fp16` of the backward pass on the CPU: what an unfused training step
// computes from the P that its forward pass kept (reference/unfused/unfused.h). r() rounds each
// intermediate to the element type, as GPU memory does.
//   1  dV = r(Pd^T dO)                          tensor cores
//   2  dP = r(dO V^T)                           tensor cores
//   3  delta = rowsum(P * dropout(dP))          in fp32
//   4  dS = r(P * (dropout(dP) - delta))        in fp32, 0 if masked
//   5  dQ = r(scale * dS K)                     tensor cores, scale as the GEMM's alpha
//   6  dK = r(scale * dS^T Q)                   tensor cores, likewise
// dV and dK are summed in fp32 over the heads that read the same keys. With FP16 accumulators the
// sum over queries continues over these heads, as in a kernel. If o and lse are given, P =
// r(exp(S - lse)) and delta = rowsum(dO * O).
#pragma once

#include "reference/tensors/backward_rows.h"
#include "reference/unfused/tensor_core_matmul.h"

namespace sparkbench {

/// The requested rows, computed on all cores. Each has the same bits as in a computation of all
/// rows. A query without a visible key has and contributes zero gradients. Throws what
/// check_backward throws.
HalfGradients unfused_backward(const Problem& problem, const BackwardInputs& inputs,
                               const GradientRows& rows, const TensorCores& tensor_cores);

}  // namespace sparkbench
