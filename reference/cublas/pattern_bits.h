// A problem's pattern as bits, for a dense computation with a mask. C++17: kernels/mask/pattern is
// not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/attention.h"

namespace sparkbench {

/// Of the unions that heads take by turns; 1 without a pattern.
int union_count(const Problem& problem);

/// Of a row of bits: whole 64-bit words.
std::size_t bits_row_bytes(const Problem& problem);

/// Of the bits of all unions; 0 without a pattern.
std::size_t bits_bytes(const Problem& problem);

/// A bit a pair, [unions, seqlen_q, bits_row_bytes()]. Of a problem that has a pattern.
std::vector<std::uint64_t> pattern_words(const Problem& problem);

/// Of all heads of all batch elements, of any mask; without `lengths`.
std::uint64_t visible_pairs_of_heads(const Problem& problem);

}  // namespace sparkbench
