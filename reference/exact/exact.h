// The reference `exact`: the definition of attention, evaluated in fp64 on the CPU.
//   O = dropout(softmax(scale * Q K^T + mask)) V,   LSE = log(sum(exp(scale * Q K^T + mask)))
// It shares with the kernels nothing but the mask's definition (KeyMask, Pattern, dropout_keeps).
#pragma once

#include <span>
#include <vector>

#include "reference/tensors/forward_rows.h"

namespace sparkbench {

struct ExactRows {
  std::vector<double> o;    // [rows, head_dim]
  std::vector<double> lse;  // [rows]
};

/// The asked rows, computed on all cores. A row without a visible key is o = 0, lse = -inf.
/// Infinite and NaN inputs propagate as the formula says. Throws what check_forward throws.
ExactRows exact_forward(const Problem& problem, const ForwardInputs& inputs,
                        std::span<const QueryRow> rows);

/// A forward pass without error but the last rounding: whole O and LSE as a kernel leaves them.
struct RoundedForward {
  std::vector<Half> o;     // [batch, seqlen_q, heads, head_dim], or packed
  std::vector<float> lse;  // [batch, heads, seqlen_q], or [heads, total_q]
};

/// The asked rows of exact_forward, rounded; zeros elsewhere. A backward pass can start from it.
RoundedForward rounded_forward(const Problem& problem, const ForwardInputs& inputs,
                               std::span<const QueryRow> rows);

}  // namespace sparkbench
