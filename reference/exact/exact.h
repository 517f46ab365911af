// The oracle `exact`: the definition of attention, evaluated in fp64 on the CPU.
//   O = dropout(softmax(scale * Q K^T + mask)) V,   LSE = log(sum(exp(scale * Q K^T + mask)))
// It shares only the mask's definition (KeyMask, Pattern, dropout_keeps) with the kernels.
#pragma once

#include <span>
#include <vector>

#include "reference/tensors/forward_rows.h"

namespace sparkbench {

struct ExactRows {
  std::vector<double> o;    // [rows, head_dim]
  std::vector<double> lse;  // [rows]
};

/// The requested rows, computed on all cores. A row without a visible key has o = 0, lse = -inf.
/// Infinite and NaN inputs propagate as in the formula. Throws what check_forward throws.
ExactRows exact_forward(const Problem& problem, const ForwardInputs& inputs,
                        std::span<const QueryRow> rows);

/// A forward pass whose only error is the final rounding: whole O and LSE in a kernel's types.
struct RoundedForward {
  std::vector<Half> o;     // [batch, seqlen_q, heads, head_dim], or varlen
  std::vector<float> lse;  // [batch, heads, seqlen_q], or [heads, total_q]
};

/// The requested rows of exact_forward, rounded; zeros elsewhere. A backward pass can start from
/// it.
RoundedForward rounded_forward(const Problem& problem, const ForwardInputs& inputs,
                               std::span<const QueryRow> rows);

}  // namespace sparkbench
