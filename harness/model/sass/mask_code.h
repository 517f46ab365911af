// Which instructions hide scores from a row.
#pragma once

#include <vector>

#include "harness/model/sass/sass_listing.h"

namespace sparkbench {

/// For each instruction whether it masks a score: it selects -inf, or moves -inf or merges a half
/// of -inf into a pair under a predicate; and, if `zero_masks`, selects zero by an integer
/// comparison, as a backward kernel hides a probability. Dropout does the same, so that a kernel
/// with dropout cannot be asked for the latter. What selects by a comparison of floats guards a
/// division or an empty row and does not count.
std::vector<bool> find_mask_code(const SassFunction& function, bool zero_masks);

}  // namespace sparkbench
