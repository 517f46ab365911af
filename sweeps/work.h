// The useful work of a problem: what any implementation must at least compute and move, so that
// two of them are credited alike. Counts saturate at 2^64 - 1.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/attention.h"

namespace sparkbench {

/// How flops() counts, for the record.
inline constexpr std::string_view kFlopConvention =
    "fwd: 4*B*H*Sq*Sk*D, halved when causal (4*D per visible pair when Sq != Sk); bwd: 2.5 times "
    "fwd; fwd+bwd: 3.5 times fwd";

/// Useful floating-point operations, of packed sequences the sum of each. The backward's five are S
/// (recomputed), dP, dV, dQ and dK; the unfused computation, which keeps P, has as many.
std::uint64_t useful_flops(Pass pass, const Problem& problem);

/// Pairs (row, key) of all heads and sequences: those that the mask shows, and all.
struct PairCounts {
  std::uint64_t visible = 0, all = 0;
};
PairCounts pairs_of(const Problem& problem);

/// Bytes that every implementation must move. Forward: q, k, v read once, o and lse written once;
/// backward: q, k, v, o, d_o and lse read, dq, dk, dv written; forward and backward: the sum.
std::uint64_t compulsory_bytes(Pass pass, const Problem& problem);

}  // namespace sparkbench
