// The useful work of a problem: what any implementation must at least compute and move. So all
// implementations get the same credit. Counts saturate at 2^64 - 1.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/problem/attention.h"

namespace sparkbench {

/// How flops() counts, for the record.
inline constexpr std::string_view kFlopConvention =
    "fwd: 4*B*H*Sq*Sk*D, halved when causal (4*D per visible pair when Sq != Sk); bwd: 2.5 times "
    "fwd; fwd+bwd: 3.5 times fwd";

/// Useful floating-point operations; for varlen the sum over the sequences. The five products of
/// the backward pass are S (recomputed), dP, dV, dQ and dK. The unfused computation, which keeps P,
/// counts the same.
std::uint64_t useful_flops(Pass pass, const Problem& problem);

/// (row, key) pairs over all heads and sequences: the visible ones, and all.
struct PairCounts {
  std::uint64_t visible = 0, all = 0;
};
PairCounts pairs_of(const Problem& problem);

/// Bytes that every implementation must move. Forward: q, k, v read once, o and lse written once;
/// backward: q, k, v, o, d_o and lse read, dq, dk, dv written; forward and backward: the sum.
std::uint64_t compulsory_bytes(Pass pass, const Problem& problem);

}  // namespace sparkbench
