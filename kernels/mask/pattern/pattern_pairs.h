// How many pairs a pattern shows.
#pragma once

#include <cstdint>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// Visible pairs of one head, each counted once. Takes time proportional to rows and terms, and to
/// pairs only with bits and `hidden_by`. Throws as disjoint() does.
std::uint64_t visible_pairs(const Pattern& pattern, int head);

}  // namespace sparkbench
