// Device memory of a case, known before anything is allocated. Saturates at 2^64 - 1. A fused
// kernel itself reports its workspace (kernels/launch/attention_kernel.h).
#pragma once

#include <cstdint>

#include "kernels/problem/attention.h"

namespace sparkbench {

/// The offsets of varlen sequences, among rows and among keys (int32); 0 if all have one length.
std::uint64_t offset_bytes(const Problem& problem);

/// q, k, v, o (fp16) and lse (fp32); with a backward pass also d_o, dq, dk and dv (fp16); for
/// varlen also the offsets (int32).
std::uint64_t tensor_bytes(Pass pass, const Problem& problem);

/// cuBLAS's memory in addition to the unfused computation's matrices: its recommended workspace on
/// Hopper, which is more than it takes elsewhere.
inline constexpr std::uint64_t kCublasWorkspaceBytes = std::uint64_t{32} << 20;

/// The unfused computation stores the scores S = scale * Q K^T, which P = dropout(softmax(S))
/// overwrites: [batch, heads, seqlen_q, seqlen_k] with `score_bytes` an element (2: fp16, 4: fp32)
/// and rows padded to 16 bytes. If scores are wider than fp16, q, k, v and o exist in that type
/// too. A backward pass also keeps dropout(P) from the forward pass, P if dropout is on, and dP; if
/// heads share keys, also dV and dK of each head in fp32, one after the other. Varlen sequences are
/// computed one by one, so the memory is the sum of theirs, without padding. A pattern takes one
/// bit per pair for each per-head pattern, in rows of whole 64-bit words.
std::uint64_t unfused_workspace_bytes(Pass pass, const Problem& problem, int score_bytes);

}  // namespace sparkbench
