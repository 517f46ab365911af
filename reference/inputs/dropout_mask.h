// The dropout mask (kernels/problem/dropout.h) by rows, and its summary in a record.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/problem/attention.h"
#include "reference/tensors/forward_rows.h"

namespace sparkbench {

/// keep[i] = dropout_keeps(...) for this query and key first_key + i, 0 or 1, at the problem's
/// dropout positions (kernels/strided/pass_dropout.h).
void fill_keep_mask(const Problem& problem, const QueryRow& query, int first_key,
                    std::span<std::uint8_t> keep);

/// keep[i] = dropout_keeps(...) for query first_query + i and this key, 0 or 1.
void fill_keep_mask(const Problem& problem, const KeyRow& key, const QueryRow& first_query,
                    std::span<std::uint8_t> keep);

/// The factor of kept values, in fp64.
double exact_keep_scale(const Problem& problem);

struct DropoutMaskSummary {
  double kept_fraction;
  std::uint64_t hash;  // FNV-1a, 64 bits, of the mask bits: 8 columns a byte, lowest column in the
                       // lowest bit, every row padded with zeros to whole bytes
};

/// Summary of the requested rows over all columns of the sequence, including masked columns.
/// Without columns kept_fraction is NaN.
DropoutMaskSummary summarize_dropout_mask(const Problem& problem, std::span<const QueryRow> rows);

}  // namespace sparkbench
