// The oracle `exact` of the backward pass: the gradients of sum(O * dO), evaluated in fp64 on the
// CPU (FlashAttention-2, Dao, 2023, section 3.1.2, on whole rows).
//   P = exp(scale * Q K^T - lse), 0 if masked         delta = rowsum(dO * O)
//   Pd = dropout(P)                                   dV = Pd^T dO
//   dPd = dropout(dO V^T)                             dS = P * (dPd - delta)
//   dQ = scale * dS K                                 dK = scale * dS^T Q
// Here dropout(x) = keep * x / (1 - p), with the forward pass's mask. dV and dK are sums over the
// heads that read the same keys.
#pragma once

#include "reference/tensors/backward_rows.h"

namespace sparkbench {

/// The requested rows, each computed independently, on all cores. A query without a visible key has
/// and contributes zero gradients. lse and O are exact (reference/exact/exact.h) unless `inputs`
/// has them. Infinite and NaN inputs propagate as in the formulas. Throws what check_backward
/// throws.
ExactGradients exact_backward(const Problem& problem, const BackwardInputs& inputs,
                              const GradientRows& rows);

}  // namespace sparkbench
