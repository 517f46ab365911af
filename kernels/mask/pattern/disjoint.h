// A union whose terms have no pair in common: for kernels that run one term after the other, and
// for counting pairs.
#pragma once

#include <optional>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// `term` minus `other`, as terms without a common pair; none if nothing is left. nullopt if zones
/// cannot express it: both have unlike grids, or `other` clamps.
std::optional<std::vector<Term>> less(const Pattern& pattern, const Term& term, const Term& other);

/// The same pattern, each visible pair in exactly one term. Each term is trimmed by the earlier
/// ones, after sorting them so that little is left to trim (global keys, bands, arrays, grids,
/// bits). Where zones cannot express the rest, `hidden_by` does. Throws std::invalid_argument if
/// more than 64 terms are left.
Pattern disjoint(const Pattern& pattern);

}  // namespace sparkbench
