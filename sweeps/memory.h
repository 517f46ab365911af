// Device memory a case will take, known before anything is allocated. Saturates at 2^64 - 1. What a
// fused kernel takes besides its tensors, it says itself (kernels/attention_kernel.h).
#pragma once

#include <cstdint>

#include "kernels/attention.h"

namespace sparkbench {

/// Where packed sequences begin, among rows and among keys (int32); 0 of sequences that are alike.
std::uint64_t offset_bytes(const Problem& problem);

/// q, k, v, o (fp16) and lse (fp32); with a backward pass d_o, dq, dk and dv (fp16) too; of packed
/// sequences, where they begin (int32).
std::uint64_t tensor_bytes(Pass pass, const Problem& problem);

/// What cuBLAS takes on top of the unfused computation's matrices: its recommended workspace on
/// Hopper, more than it takes elsewhere.
inline constexpr std::uint64_t kCublasWorkspaceBytes = std::uint64_t{32} << 20;

/// The unfused computation keeps the scores S = scale * Q K^T, which P = dropout(softmax(S))
/// overwrites: [batch, heads, seqlen_q, seqlen_k] of `score_bytes` an element (2: fp16, 4: fp32),
/// rows padded to 16 bytes. With scores wider than fp16, q, k, v and o exist in that type too.
/// Backward, dropout(P) is kept from the forward, P too where values are dropped, and dP stands
/// beside them, and where heads share keys dV and dK of each head in fp32, one after the other. Of
/// packed sequences, computed one by one, as much as each takes by itself: none is padded. A
/// pattern is a bit a pair of each of its unions, rows of whole 64-bit words.
std::uint64_t unfused_workspace_bytes(Pass pass, const Problem& problem, int score_bytes);

}  // namespace sparkbench
