// The value of an expression, three ways: for one pair, which is the definition; for 64 keys or
// rows at once; and as bounds over all pairs of a tile.
#pragma once

#include <cstdint>

#include "kernels/mask/predicate/expression.h"

namespace sparkbench {

/// Values of an expression's names. A row's position is that of the key at which it stands.
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

/// Bounds of the value while q and k go from `first` to `last`, both included. They may be too
/// wide.
WholeBounds bounds_of(const Expression& expression, const ExpressionPoint& first,
                      const ExpressionPoint& last);

}  // namespace sparkbench
