// The cost of a sample of a pattern's rows, and the rows that the sample must contain: an error in
// a pattern shows where the pattern changes.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/attention.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {

/// Keys that each of `block_rows` rows costs when computed together. For one row: the mean over all
/// rows in the unfused reference, which takes 32 rows at once and 16 adjacent keys. For more: the
/// most 64-key tiles that any such block visits. At least 1.
double keys_per_row(const SparseMask& mask, int block_rows);

/// At most `most` rows of a head, ascending, spread over the rows whose key intervals begin, end or
/// number differently than in the previous row: where a window leaves the border, or a block or
/// global rows end.
std::vector<int> border_rows(const Pattern& pattern, int head, std::size_t most);

/// The last head with each per-head pattern, ascending.
std::vector<int> last_heads_of_unions(const Problem& problem);

}  // namespace sparkbench
