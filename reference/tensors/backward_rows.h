// The interface of every CPU reference of the backward pass: inputs, requested gradient rows, and
// their values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/problem/attention.h"
#include "reference/parallel.h"
#include "reference/tensors/tensor_rows.h"

namespace sparkbench {

/// Host tensors, contiguous or strided.
///
/// `o` and `lse` come from a forward pass, both or neither. If given, they define P = exp(scale * S
/// - lse) and delta = rowsum(d_o * o), as for a fused kernel. The result is then the gradient given
/// that forward pass, without the forward pass's own error, and a row of dK and dV costs no more
/// than a row of dQ. If absent, a reference recomputes them for all queries that read a key head as
/// soon as one row of its dK and dV is requested.
struct BackwardInputs {
  HostTensor q;                     // [batch, seqlen_q, heads, head_dim]
  HostTensor k;                     // [batch, seqlen_k, heads_k, head_dim]
  HostTensor v;                     // [batch, seqlen_k, heads_k, head_dim]
  HostTensor d_o;                   // [batch, seqlen_q, heads, head_dim]
  HostTensor o = {};                // [batch, seqlen_q, heads, head_dim]
  std::span<const float> lse = {};  // [batch, heads, seqlen_q]

  bool has_forward() const { return !lse.empty(); }
};

/// Rows of dQ, and rows of dK and dV; both strictly ascending.
struct GradientRows {
  std::vector<QueryRow> dq;
  std::vector<KeyRow> dkv;
};

/// Every row of every gradient.
GradientRows all_gradient_rows(const Problem& problem);

/// The requested rows: dq [rows.dq, head_dim], dk and dv [rows.dkv, head_dim].
template <class T>
struct Gradients {
  std::vector<T> dq, dk, dv;
};
using HalfGradients = Gradients<Half>;
using ExactGradients = Gradients<double>;

/// Whole tensors with the requested rows, contiguous or strided.
struct GradientTensors {
  HostTensor dq, dk, dv;
};
HalfGradients gather_gradients(const Problem& problem, const GradientTensors& tensors,
                               const GradientRows& rows);

/// Zeros for the requested rows.
template <class T>
Gradients<T> zero_gradients(const Problem& problem, const GradientRows& rows) {
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  const std::vector<T> dkv(rows.dkv.size() * head_dim);
  return {std::vector<T>(rows.dq.size() * head_dim), dkv, dkv};
}

/// The queries whose lse and delta the requested rows depend on, ascending: the queries of dQ, and
/// for each key head with a requested row of dK and dV all queries that read it.
std::vector<QueryRow> queries_needed_by(const Problem& problem, const GradientRows& rows);

/// Calls body(run) for every run (split_by_head) of the rows of dQ and of dK and dV, on all cores.
template <class Body>
void for_each_run(const GradientRows& rows, std::size_t max_rows, Body body) {
  const auto query_runs = split_by_head<QueryRow>(rows.dq, max_rows);
  const auto key_runs = split_by_head<KeyRow>(rows.dkv, max_rows);
  parallel_for(query_runs.size() + key_runs.size(), [&](std::size_t i) {
    if (i < query_runs.size()) {
      body(query_runs[i]);
    } else {
      body(key_runs[i - query_runs.size()]);
    }
  });
}

/// Throws std::invalid_argument unless the inputs have the problem's sizes, o and lse come
/// together, and the rows are strictly ascending and inside the problem.
void check_backward(const Problem& problem, const BackwardInputs& inputs, const GradientRows& rows);

}  // namespace sparkbench
