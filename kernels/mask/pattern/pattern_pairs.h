// How many pairs a pattern shows.
#pragma once

#include <cstdint>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// Pairs of one head that are visible, each once. In time that grows with rows and terms, and only
/// for bits and `hidden_by` with pairs. Throws as disjoint() does.
std::uint64_t visible_pairs(const Pattern& pattern, int head);

/// Visible pairs over all pairs.
double density(const Pattern& pattern, int head);

}  // namespace sparkbench
