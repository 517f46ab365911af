// A problem's pattern as bits, for a dense computation with a mask. C++17, because device code
// includes it; kernels/mask/pattern is C++20.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/problem/attention.h"

namespace sparkbench {

/// The number of patterns that the heads cycle through; 1 without a pattern.
int union_count(const Problem& problem);

/// Bytes per row of bits: whole 64-bit words.
std::size_t bits_row_bytes(const Problem& problem);

/// Bytes of all patterns' bits; 0 without a pattern.
std::size_t bits_bytes(const Problem& problem);

/// One bit per (row, key) pair, [patterns, seqlen_q, bits_row_bytes()]. The problem must have a
/// pattern.
std::vector<std::uint64_t> pattern_words(const Problem& problem);

/// Over all heads of all batch elements, for any mask. The problem must not have `lengths`.
std::uint64_t visible_pairs_of_heads(const Problem& problem);

}  // namespace sparkbench
