// What the Volta backward kernels are launched with: the same on a GPU and on the emulated machine.
#pragma once

#include "kernels/attention.h"
#include "kernels/volta/forward_params.h"

namespace sparkbench::volta {

/// Memory that the backward pass needs besides its tensors, linear in seqlen_q.
struct BackwardWorkspace {
  float* delta;   // [batch, heads, seqlen_q], rowsum(d_o * o)
  float* dq_sum;  // [batch, seqlen_q, heads, head_dim], zeros at launch; null when deterministic
};

struct BackwardParams {
  BackwardTensors tensors;
  BackwardWorkspace workspace;
  int heads;
  KeyMask mask;
  float scale;       // of the scores
  float scale_log2;  // scale * log2(e)
  Dropout dropout;
  int query_begin, query_end;  // only these queries take part; all of them but in a sampled check
};

inline BackwardParams backward_params(const Problem& problem, const BackwardTensors& tensors,
                                      const BackwardWorkspace& workspace) {
  return {tensors,           workspace,
          problem.heads,     {problem.seqlen_q, problem.seqlen_k, problem.causal},
          problem.scale(),   problem.scale() * kLog2E,
          problem.dropout(), 0,
          problem.seqlen_q};
}

}  // namespace sparkbench::volta
