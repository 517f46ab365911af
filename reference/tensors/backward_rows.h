// What every CPU reference of the backward pass takes and gives: inputs, the gradient rows that are
// asked for, and their values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/attention.h"
#include "reference/parallel.h"
#include "reference/tensors/tensor_rows.h"

namespace sparkbench {

/// Host tensors, contiguous or strided.
///
/// `o` and `lse`, given together or not at all, are those of a forward pass, and then define what
/// the backward takes from it: P = exp(scale * S - lse) and delta = rowsum(d_o * o), as they do for
/// a fused kernel. The result is the gradient given that forward, without the forward's own error,
/// and a row of dK and dV costs no more than a row of dQ. Absent, a reference computes what it
/// needs of all queries that read a key head for the first row of dK and dV in it.
struct BackwardInputs {
  HostTensor q;                     // [batch, seqlen_q, heads, head_dim]
  HostTensor k;                     // [batch, seqlen_k, heads_k, head_dim]
  HostTensor v;                     // [batch, seqlen_k, heads_k, head_dim]
  HostTensor d_o;                   // [batch, seqlen_q, heads, head_dim]
  HostTensor o = {};                // [batch, seqlen_q, heads, head_dim]
  std::span<const float> lse = {};  // [batch, heads, seqlen_q]

  bool has_forward() const { return !lse.empty(); }
};

/// Rows of dQ, and rows of dK and dV, each strictly ascending.
struct GradientRows {
  std::vector<QueryRow> dq;
  std::vector<KeyRow> dkv;
};

/// Every row of every gradient.
GradientRows all_gradient_rows(const Problem& problem);

/// At most `count` rows of dQ and at most `count` rows of dK and dV, spread as sample_rows_of does.
GradientRows sample_gradient_rows(const Problem& problem, std::size_t count);

/// The asked rows: dq [rows.dq, head_dim], dk and dv [rows.dkv, head_dim].
template <class T>
struct Gradients {
  std::vector<T> dq, dk, dv;
};
using HalfGradients = Gradients<Half>;
using ExactGradients = Gradients<double>;

/// The asked rows of whole tensors, contiguous or strided.
struct GradientTensors {
  HostTensor dq, dk, dv;
};
HalfGradients gather_gradients(const Problem& problem, const GradientTensors& tensors,
                               const GradientRows& rows);

/// Zeros for the asked rows.
template <class T>
Gradients<T> zero_gradients(const Problem& problem, const GradientRows& rows) {
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  const std::vector<T> dkv(rows.dkv.size() * head_dim);
  return {std::vector<T>(rows.dq.size() * head_dim), dkv, dkv};
}

/// The queries whose lse and delta the asked rows depend on, ascending: those of dQ, and all of the
/// heads that read a key head in which a row of dK and dV is asked for.
std::vector<QueryRow> queries_needed_by(const Problem& problem, const GradientRows& rows);

/// body(run) for every run of dQ's rows and of dK's and dV's (split_by_head), on all cores.
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
