// The dropout mask (kernels/dropout.h) by rows, and what a record says of it.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/attention.h"
#include "reference/tensors/forward_rows.h"

namespace sparkbench {

/// keep[i] = dropout_keeps(...) of this query and key first_key + i, 0 or 1, where the problem has
/// their place (kernels/pass_dropout.h).
void fill_keep_mask(const Problem& problem, const QueryRow& query, int first_key,
                    std::span<std::uint8_t> keep);

/// keep[i] = dropout_keeps(...) of the i-th query from `first_query` on and this key, 0 or 1.
void fill_keep_mask(const Problem& problem, const KeyRow& key, const QueryRow& first_query,
                    std::span<std::uint8_t> keep);

/// What kept values are multiplied by, in fp64.
double exact_keep_scale(const Problem& problem);

struct DropoutMaskSummary {
  double kept_fraction;
  std::uint64_t hash;  // FNV-1a, 64 bits, of the mask bits: 8 columns a byte, lowest column in the
                       // lowest bit, every row filled up to a byte with zeros
};

/// Of the asked rows, over all columns of the sequence, those that the mask hides included. Of no
/// column kept_fraction is NaN.
DropoutMaskSummary summarize_dropout_mask(const Problem& problem, std::span<const QueryRow> rows);

}  // namespace sparkbench
