// Interval arithmetic: bounds of an operator's result from bounds of its operands. A result that
// may leave 64 bits may be anything.
#include <algorithm>
#include <bit>
#include <initializer_list>
#include <limits>

#include "kernels/mask/predicate/evaluate.h"

namespace sparkbench {
namespace {

__extension__ using Wide = __int128;

constexpr Whole kLeastWhole = std::numeric_limits<Whole>::min();
constexpr Whole kMostWhole = std::numeric_limits<Whole>::max();
constexpr WholeBounds kAnything = {kLeastWhole, kMostWhole};
constexpr WholeBounds kTruth = {0, 1};

bool is_one_number(const WholeBounds& a) { return a.least == a.most; }
bool may_be(const WholeBounds& a, Whole value) { return a.least <= value && value <= a.most; }

WholeBounds fitting(Wide least, Wide most) {
  if (least < kLeastWhole || most > kMostWhole) return kAnything;
  return {static_cast<Whole>(least), static_cast<Whole>(most)};
}

WholeBounds certain(bool is_surely_true, bool is_surely_false) {
  if (is_surely_true) return {1, 1};
  return is_surely_false ? WholeBounds{0, 0} : kTruth;
}

bool is_true(const WholeBounds& a) { return !may_be(a, 0); }
bool is_false(const WholeBounds& a) { return a.least == 0 && a.most == 0; }

WholeBounds product_bounds(const WholeBounds& a, const WholeBounds& b) {
  const std::initializer_list<Wide> ends = {Wide{a.least} * b.least, Wide{a.least} * b.most,
                                            Wide{a.most} * b.least, Wide{a.most} * b.most};
  return fitting(std::min(ends), std::max(ends));
}

/// The size of a quotient is at most that of the dividend.
WholeBounds quotient_bounds(const WholeBounds& a, const WholeBounds& b) {
  if (a.least == kLeastWhole) return kAnything;
  if (is_one_number(b) && b.least != 0) {
    const Whole first = a.least / b.least, last = a.most / b.least;
    return {std::min(first, last), std::max(first, last)};
  }
  const Whole size = std::max(whole_size(a.least), whole_size(a.most));
  return {-size, size};
}

/// A remainder has the sign of the dividend and at most its size.
WholeBounds remainder_bounds(const WholeBounds& a, const WholeBounds& b) {
  WholeBounds bounds = {std::min<Whole>(a.least, 0), std::max<Whole>(a.most, 0)};
  if (may_be(b, 0) || b.least == kLeastWhole) return bounds;
  if (is_one_number(b)) {
    const Whole divisor = whole_size(b.least);
    const bool has_one_sign = a.least >= 0 || a.most <= 0;
    if (has_one_sign && a.least / divisor == a.most / divisor) {
      return {a.least % divisor, a.most % divisor};
    }
  }
  const Whole most = std::max(whole_size(b.least), whole_size(b.most)) - 1;
  return {std::max(bounds.least, -most), std::min(bounds.most, most)};
}

WholeBounds shifted_left_bounds(const WholeBounds& a, const WholeBounds& b) {
  if (!is_one_number(b)) return kAnything;
  const Wide factor = Wide{1} << (bits_of_whole(b.least) & 63u);
  return fitting(a.least * factor, a.most * factor);
}

WholeBounds shifted_right_bounds(const WholeBounds& a, const WholeBounds& b) {
  if (is_one_number(b)) {
    return {whole_shifted_right(a.least, b.least), whole_shifted_right(a.most, b.least)};
  }
  return {std::min<Whole>(a.least, 0), a.most < 0 ? -1 : a.most};
}

/// Numbers up to the next power of two.
Whole all_bits_up_to(Whole value) {
  return static_cast<Whole>(~std::uint64_t{0} >>
                            std::max(1, std::countl_zero(static_cast<std::uint64_t>(value))));
}

WholeBounds bit_and_bounds(const WholeBounds& a, const WholeBounds& b) {
  if (is_one_number(a) && !is_one_number(b)) return bit_and_bounds(b, a);
  if (is_one_number(b) && b.least >= 0 && all_bits_up_to(b.least) == b.least) {
    const Whole mask = b.least;
    const int bits = std::popcount(static_cast<std::uint64_t>(mask));
    if (a.least >> bits == a.most >> bits) return {a.least & mask, a.most & mask};
    return {0, mask};
  }
  if (a.least >= 0 && b.least >= 0) return {0, std::min(a.most, b.most)};
  if (a.least >= 0) return {0, a.most};
  return b.least >= 0 ? WholeBounds{0, b.most} : kAnything;
}

WholeBounds bit_or_bounds(const WholeBounds& a, const WholeBounds& b, bool is_exclusive) {
  if (a.least < 0 || b.least < 0) return kAnything;
  return {is_exclusive ? 0 : std::max(a.least, b.least), all_bits_up_to(a.most | b.most)};
}

WholeBounds equal_bounds(const WholeBounds& a, const WholeBounds& b) {
  return certain(is_one_number(a) && is_one_number(b) && a.least == b.least,
                 a.most < b.least || b.most < a.least);
}

WholeBounds opposite(const WholeBounds& truth) { return {1 - truth.most, 1 - truth.least}; }

WholeBounds less_bounds(const WholeBounds& a, const WholeBounds& b) {
  return certain(a.most < b.least, b.most <= a.least);
}

WholeBounds binary_bounds(ExpressionOp op, const WholeBounds& a, const WholeBounds& b) {
  switch (op) {
    case ExpressionOp::kProduct:
      return product_bounds(a, b);
    case ExpressionOp::kQuotient:
      return quotient_bounds(a, b);
    case ExpressionOp::kRemainder:
      return remainder_bounds(a, b);
    case ExpressionOp::kSum:
      return fitting(Wide{a.least} + b.least, Wide{a.most} + b.most);
    case ExpressionOp::kDifference:
      return fitting(Wide{a.least} - b.most, Wide{a.most} - b.least);
    case ExpressionOp::kShiftedLeft:
      return shifted_left_bounds(a, b);
    case ExpressionOp::kShiftedRight:
      return shifted_right_bounds(a, b);
    case ExpressionOp::kLess:
      return less_bounds(a, b);
    case ExpressionOp::kGreater:
      return less_bounds(b, a);
    case ExpressionOp::kLessOrEqual:
      return opposite(less_bounds(b, a));
    case ExpressionOp::kGreaterOrEqual:
      return opposite(less_bounds(a, b));
    case ExpressionOp::kEqual:
      return equal_bounds(a, b);
    case ExpressionOp::kUnequal:
      return opposite(equal_bounds(a, b));
    case ExpressionOp::kBitAnd:
      return bit_and_bounds(a, b);
    case ExpressionOp::kBitXor:
      return bit_or_bounds(a, b, true);
    case ExpressionOp::kBitOr:
      return bit_or_bounds(a, b, false);
    case ExpressionOp::kAnd:
      return certain(is_true(a) && is_true(b), is_false(a) || is_false(b));
    case ExpressionOp::kOr:
      return certain(is_true(a) || is_true(b), is_false(a) && is_false(b));
    default:
      return kAnything;
  }
}

WholeBounds unary_bounds(ExpressionOp op, const WholeBounds& a) {
  switch (op) {
    case ExpressionOp::kNot:
      return certain(is_false(a), is_true(a));
    case ExpressionOp::kComplement:
      return {~a.most, ~a.least};
    case ExpressionOp::kNegative:
      return fitting(-Wide{a.most}, -Wide{a.least});
    case ExpressionOp::kSize:
      if (a.least == kLeastWhole) return kAnything;
      if (may_be(a, 0)) return {0, std::max(-a.least, a.most)};
      return a.least > 0 ? a : WholeBounds{-a.most, -a.least};
    default:
      return kAnything;
  }
}

WholeBounds bounds_of_node(const Expression& expression, int index, const ExpressionPoint& first,
                           const ExpressionPoint& last) {
  const ExpressionNode& node = expression.node(index);
  switch (node.op) {
    case ExpressionOp::kNumber:
      return {node.number, node.number};
    case ExpressionOp::kRow:
      return {first.q, last.q};
    case ExpressionOp::kKey:
      return {first.k, last.k};
    case ExpressionOp::kHead:
      return {first.h, last.h};
    case ExpressionOp::kSeqlenQ:
      return {first.seqlen_q, last.seqlen_q};
    case ExpressionOp::kSeqlenK:
      return {first.seqlen_k, last.seqlen_k};
    default:
      break;
  }
  const WholeBounds left = bounds_of_node(expression, node.left, first, last);
  if (node.right < 0) return unary_bounds(node.op, left);
  return binary_bounds(node.op, left, bounds_of_node(expression, node.right, first, last));
}

}  // namespace

WholeBounds bounds_of(const Expression& expression, const ExpressionPoint& first,
                      const ExpressionPoint& last) {
  return bounds_of_node(expression, expression.root(), first, last);
}

}  // namespace sparkbench
