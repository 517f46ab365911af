// A union whose terms have no pair in common: for kernels that run one term after the other, and
// for counting pairs.
#pragma once

#include <optional>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// Of `term` what `other` does not have: terms without a common pair, none when there is nothing
/// left. Nothing when zones cannot say it, which is so where both have grids and these are unlike,
/// or where `other` clamps.
std::optional<std::vector<Term>> less(const Pattern& pattern, const Term& term, const Term& other);

/// The same pattern, each visible pair in exactly one term: terms are trimmed by those before them,
/// which are first brought into an order in which little is left to trim (global keys, bands,
/// arrays, grids, bits). Where zones cannot say what is left, `hidden_by` does. Throws
/// std::invalid_argument when more than 64 terms are left.
Pattern disjoint(const Pattern& pattern);

}  // namespace sparkbench
