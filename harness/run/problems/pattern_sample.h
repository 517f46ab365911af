// What a sample of a pattern's rows costs, and which rows ought to be in it: a kernel that has a
// pattern wrong has it wrong where the pattern changes.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/attention.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {

/// Keys that `block_rows` rows together cost each of them: of one row the mean over all, as the
/// unfused reference computes them, which takes 32 rows at once and 16 keys side by side; of more,
/// the most tiles of 64 keys that any such block visits. At least 1.
double keys_per_row(const SparseMask& mask, int block_rows);

/// At most `most` rows of a head, ascending, spread over those at which the runs that a row sees
/// begin, end or count otherwise than at the row before: where a window leaves the border, a block
/// ends, global rows do.
std::vector<int> border_rows(const Pattern& pattern, int head, std::size_t most);

/// The last head that has each union, ascending.
std::vector<int> last_heads_of_unions(const Problem& problem);

}  // namespace sparkbench
