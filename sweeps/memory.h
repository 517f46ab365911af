// Device memory a case will take, known before anything is allocated. Saturates at 2^64 - 1.
#pragma once

#include <cstdint>

#include "kernels/attention.h"

namespace sparkbench {

struct MemoryPrediction {
  std::uint64_t io_bytes = 0;         // q, k, v, o (fp16) and lse (fp32); d_o, dq, dk, dv (fp16)
  std::uint64_t workspace_bytes = 0;  // everything else
  std::uint64_t peak_bytes() const;   // their sum
};

/// What cuBLAS takes on top of the unfused computation's matrices: its recommended workspace on
/// Hopper, more than it takes elsewhere.
inline constexpr std::uint64_t kCublasWorkspaceBytes = std::uint64_t{32} << 20;

/// A fused kernel keeps its scores on chip: forward, no workspace. Backward, the log-sum-exp and
/// D = rowsum(dO * O) of every query, and unless deterministic the sums of dQ, all in fp32, with
/// seqlen_q rounded up to 128.
MemoryPrediction predict_fused_memory(Pass pass, const Problem& problem, bool is_deterministic);

/// The unfused computation keeps the scores S = scale * Q K^T, which P = dropout(softmax(S))
/// overwrites: [batch, heads, seqlen_q, seqlen_k] of `score_bytes` an element (2: fp16, 4: fp32),
/// rows padded to 16 bytes. With scores wider than fp16, q, k, v and o exist in that type too.
/// Backward, dropout(P) is kept from the forward, P too where values are dropped, and dP stands
/// beside them.
MemoryPrediction predict_unfused_memory(Pass pass, const Problem& problem, int score_bytes);

}  // namespace sparkbench
