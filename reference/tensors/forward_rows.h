// The interface of every CPU reference of the forward pass: inputs and requested query rows.
#pragma once

#include <span>
#include <vector>

#include "kernels/base/half.h"
#include "kernels/problem/attention.h"
#include "reference/tensors/tensor_rows.h"

namespace sparkbench {

/// Host tensors, contiguous or strided.
struct ForwardInputs {
  HostTensor q;  // [batch, seqlen_q, heads, head_dim]
  HostTensor k;  // [batch, seqlen_k, heads_k, head_dim]
  HostTensor v;  // [batch, seqlen_k, heads_k, head_dim]
};

/// Rows in a kernel's types: fp16 O, fp32 LSE.
struct ForwardRows {
  std::vector<Half> o;     // [rows, head_dim]
  std::vector<float> lse;  // [rows], -inf if no key is visible
};

/// Every row of the problem, in ascending order.
std::vector<QueryRow> all_rows(const Problem& problem);

/// The requested rows of a whole O [batch, seqlen_q, heads, head_dim] and LSE [batch, heads,
/// seqlen_q].
ForwardRows gather_rows(const Problem& problem, const HostTensor& o, std::span<const float> lse,
                        std::span<const QueryRow> rows);

/// Throws std::invalid_argument unless the inputs have the problem's sizes and `rows` is strictly
/// ascending by (batch, head, row) and inside the problem.
void check_forward(const Problem& problem, const ForwardInputs& inputs,
                   std::span<const QueryRow> rows);

}  // namespace sparkbench
