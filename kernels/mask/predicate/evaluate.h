// The value of an expression, three ways: of one pair, which is the definition; of 64 keys or rows
// at once; and of all pairs of a tile, as bounds.
#pragma once

#include <cstdint>

#include "kernels/mask/predicate/expression.h"

namespace sparkbench {

/// What the names of an expression mean. A row's position is that of the key at which it stands.
struct ExpressionPoint {
  Whole q = 0, k = 0, h = 0, seqlen_q = 0, seqlen_k = 0;
};

/// The definition.
Whole value_of(const Expression& expression, const ExpressionPoint& point);

/// Bit i is whether the value is not 0 where k, or else q, is i more than in `first`.
std::uint64_t word_of(const Expression& expression, const ExpressionPoint& first, bool is_of_keys);

/// Numbers from least to most, both among them.
struct WholeBounds {
  Whole least, most;
};

/// What has every value where q and k go from `first` to `last`, both among them. It may have
/// others.
WholeBounds bounds_of(const Expression& expression, const ExpressionPoint& first,
                      const ExpressionPoint& last);

}  // namespace sparkbench
