// An expression over a row and a key, for `where:`. Its grammar is C's, except for three things
// that C accepts and hardly anyone means:
//   sum         = numbers (decimal or 0x...), q, k, h, seqlen_q, seqlen_k, abs(e), ( e )
//   operators   = by C's precedence: ! ~ -   * / %   + -   << >>   < <= > >=   == !=   &   ^   |
//                 &&   ||
//   refused     a comparison of a comparison (0 <= q - k < 128), & ^ | beside a comparison without
//                 parentheses, and what divides by a constant 0
// whole_numbers.h says what operators compute. A comparison is 1 or 0, and what is not 0 is true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/mask/predicate/whole_numbers.h"

namespace sparkbench {

enum class ExpressionOp : std::uint8_t {
  kNumber,
  kRow,
  kKey,
  kHead,
  kSeqlenQ,
  kSeqlenK,
  kNot,
  kComplement,
  kNegative,
  kSize,
  kProduct,
  kQuotient,
  kRemainder,
  kSum,
  kDifference,
  kShiftedLeft,
  kShiftedRight,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kEqual,
  kUnequal,
  kBitAnd,
  kBitXor,
  kBitOr,
  kAnd,
  kOr,
};

/// Operands precede their operators; they are indices of nodes.
struct ExpressionNode {
  ExpressionOp op;
  int left = -1, right = -1;  // one operand is the left one
  Whole number = 0;           // of kNumber, not negative

  bool operator==(const ExpressionNode&) const = default;
};

struct Expression {
  std::vector<ExpressionNode> nodes;  // the last is all of it; at least one

  const ExpressionNode& node(int index) const { return nodes[static_cast<std::size_t>(index)]; }
  int root() const { return static_cast<int>(nodes.size()) - 1; }
  bool names(ExpressionOp op) const;
  bool operator==(const Expression&) const = default;
};

/// Most nodes of an expression, and most values that wait for another while it is evaluated.
inline constexpr int kMostExpressionNodes = 256, kMostWaitingValues = 32;

/// A text that is no expression: what was wrong, from which character on, and what is allowed.
class ExpressionError : public std::invalid_argument {
 public:
  ExpressionError(const std::string& what, std::size_t position)
      : std::invalid_argument(what), position_(position) {}
  /// Counted from 0.
  std::size_t position() const { return position_; }

 private:
  std::size_t position_;
};

/// Throws ExpressionError.
Expression parse_expression(std::string_view text);

/// The normal form, which parse_expression() reads: no spaces, decimal numbers, parentheses only
/// where needed.
std::string text_of(const Expression& expression);

/// An operator's text, and its precedence: greater binds closer.
struct OperatorRow {
  ExpressionOp op;
  std::string_view text;
  int precedence;
};
/// Operators of two operands. A longer one precedes those that it begins with, such as << before <.
const std::vector<OperatorRow>& binary_operators();
/// nullptr if `op` does not have two operands.
const OperatorRow* find_binary(ExpressionOp op);

inline constexpr int kUnaryPrecedence = 11, kComparisonPrecedence = 7, kEqualityPrecedence = 6,
                     kBitAndPrecedence = 5, kBitOrPrecedence = 3;

/// The name of a row, a key, a head or a length; "" for other operations.
std::string_view name_of(ExpressionOp op);

}  // namespace sparkbench
