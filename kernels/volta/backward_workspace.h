// How the backward pass lays out its workspace.
#pragma once

#include "kernels/attention.h"
#include "kernels/volta/backward_params.h"

namespace sparkbench::volta {

/// D, rounded up so that the sums of dQ behind it are aligned like a fresh allocation.
inline std::size_t delta_bytes(const Problem& problem) {
  constexpr std::size_t kAlignment = 256;
  return (problem.lse_elements() * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
}

inline std::size_t dq_sum_bytes(const Problem& problem, bool is_deterministic) {
  return is_deterministic ? 0 : problem.q_elements() * sizeof(float);
}

/// Device bytes of the whole workspace, linear in seqlen_q: D, and unless deterministic the fp32
/// sums of dQ.
inline std::size_t backward_workspace_bytes(const Problem& problem, bool is_deterministic) {
  return delta_bytes(problem) + dq_sum_bytes(problem, is_deterministic);
}

inline BackwardWorkspace lay_out_workspace(const Problem& problem, void* memory,
                                           bool is_deterministic) {
  auto* const bytes = static_cast<unsigned char*>(memory);
  void* const dq_sum = is_deterministic ? nullptr : bytes + delta_bytes(problem);
  return {static_cast<float*>(memory), static_cast<float*>(dq_sum)};
}

}  // namespace sparkbench::volta
