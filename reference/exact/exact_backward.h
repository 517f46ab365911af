// The reference `exact` of the backward pass: the gradients of sum(O * dO), evaluated in fp64 on
// the CPU (FlashAttention-2, Dao, 2023, section 3.1.2, on whole rows).
//   P = exp(scale * Q K^T - lse), 0 where masked      delta = rowsum(dO * O)
//   Pd = dropout(P)                                   dV = Pd^T dO
//   dPd = dropout(dO V^T)                             dS = P * (dPd - delta)
//   dQ = scale * dS K                                 dK = scale * dS^T Q
// dV and dK are sums over the heads that read the same keys.
// where dropout(x) = keep * x / (1 - p), of the mask that the forward pass uses.
#pragma once

#include "reference/tensors/backward_rows.h"

namespace sparkbench {

/// The asked rows, each computed on its own, on all cores. A query without a visible key has and
/// gives zero gradients. lse and O are exact (reference/exact/exact.h) unless `inputs` brings them.
/// Infinite and NaN inputs propagate as the formulas say. Throws what check_backward throws.
ExactGradients exact_backward(const Problem& problem, const BackwardInputs& inputs,
                              const GradientRows& rows);

}  // namespace sparkbench
