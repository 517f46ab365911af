// What each operator of an expression computes, once for all evaluators.
#pragma once

#include <stdexcept>

#include "kernels/mask/predicate/expression.h"

namespace sparkbench {

/// Calls `use` with the operation, a function of one number.
template <class Use>
auto with_unary(ExpressionOp op, const Use& use) {
  switch (op) {
    case ExpressionOp::kNot:
      return use([](Whole a) -> Whole { return a == 0 ? 1 : 0; });
    case ExpressionOp::kComplement:
      return use([](Whole a) -> Whole { return ~a; });
    case ExpressionOp::kNegative:
      return use([](Whole a) { return whole_negative(a); });
    case ExpressionOp::kSize:
      return use([](Whole a) { return whole_size(a); });
    default:
      throw std::logic_error("no operator of one operand");
  }
}

/// The same for two numbers.
template <class Use>
auto with_binary(ExpressionOp op, const Use& use) {
  switch (op) {
    case ExpressionOp::kProduct:
      return use([](Whole a, Whole b) { return whole_product(a, b); });
    case ExpressionOp::kQuotient:
      return use([](Whole a, Whole b) { return whole_quotient(a, b); });
    case ExpressionOp::kRemainder:
      return use([](Whole a, Whole b) { return whole_remainder(a, b); });
    case ExpressionOp::kSum:
      return use([](Whole a, Whole b) { return whole_sum(a, b); });
    case ExpressionOp::kDifference:
      return use([](Whole a, Whole b) { return whole_difference(a, b); });
    case ExpressionOp::kShiftedLeft:
      return use([](Whole a, Whole b) { return whole_shifted_left(a, b); });
    case ExpressionOp::kShiftedRight:
      return use([](Whole a, Whole b) { return whole_shifted_right(a, b); });
    case ExpressionOp::kLess:
      return use([](Whole a, Whole b) -> Whole { return a < b ? 1 : 0; });
    case ExpressionOp::kLessOrEqual:
      return use([](Whole a, Whole b) -> Whole { return a <= b ? 1 : 0; });
    case ExpressionOp::kGreater:
      return use([](Whole a, Whole b) -> Whole { return a > b ? 1 : 0; });
    case ExpressionOp::kGreaterOrEqual:
      return use([](Whole a, Whole b) -> Whole { return a >= b ? 1 : 0; });
    case ExpressionOp::kEqual:
      return use([](Whole a, Whole b) -> Whole { return a == b ? 1 : 0; });
    case ExpressionOp::kUnequal:
      return use([](Whole a, Whole b) -> Whole { return a != b ? 1 : 0; });
    case ExpressionOp::kBitAnd:
      return use([](Whole a, Whole b) { return a & b; });
    case ExpressionOp::kBitXor:
      return use([](Whole a, Whole b) { return a ^ b; });
    case ExpressionOp::kBitOr:
      return use([](Whole a, Whole b) { return a | b; });
    case ExpressionOp::kAnd:
      return use([](Whole a, Whole b) -> Whole { return (a != 0) & (b != 0) ? 1 : 0; });
    case ExpressionOp::kOr:
      return use([](Whole a, Whole b) -> Whole { return (a != 0) | (b != 0) ? 1 : 0; });
    default:
      throw std::logic_error("no operator of two operands");
  }
}

}  // namespace sparkbench
