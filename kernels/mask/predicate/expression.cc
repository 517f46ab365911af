#include "kernels/mask/predicate/expression.h"

#include <algorithm>

namespace sparkbench {
namespace {

bool is_comparison(int precedence) {
  return precedence == kComparisonPrecedence || precedence == kEqualityPrecedence;
}

std::string in_parentheses(const std::string& text) { return std::string("(").append(text) + ")"; }

bool is_bitwise(int precedence) {
  return kBitOrPrecedence <= precedence && precedence <= kBitAndPrecedence;
}

class ExpressionText {
 public:
  explicit ExpressionText(const Expression& expression) : expression_(expression) {}

  std::string of(int index) const {
    const ExpressionNode& node = expression_.node(index);
    if (const OperatorRow* const row = find_binary(node.op)) {
      return operand(node.left, *row, false) + std::string(row->text) +
             operand(node.right, *row, true);
    }
    switch (node.op) {
      case ExpressionOp::kNumber:
        return std::to_string(node.number);
      case ExpressionOp::kNot:
        return std::string(1, '!').append(of_unary(node.left));
      case ExpressionOp::kComplement:
        return std::string(1, '~').append(of_unary(node.left));
      case ExpressionOp::kNegative:
        return std::string(1, '-').append(of_unary(node.left));
      case ExpressionOp::kSize:
        return std::string("abs").append(in_parentheses(of(node.left)));
      default:
        return std::string(name_of(node.op));
    }
  }

 private:
  std::string of_unary(int index) const {
    const ExpressionOp op = expression_.node(index).op;
    return find_binary(op) != nullptr || op == ExpressionOp::kNegative ? in_parentheses(of(index))
                                                                       : of(index);
  }
  std::string operand(int index, const OperatorRow& of_row, bool is_right) const {
    const ExpressionOp op = expression_.node(index).op;
    const OperatorRow* const row = find_binary(op);
    bool is_apart = op == ExpressionOp::kNegative;
    if (row != nullptr) {
      const bool reads_otherwise =
          is_right ? row->precedence <= of_row.precedence : row->precedence < of_row.precedence;
      is_apart = reads_otherwise ||
                 (is_comparison(row->precedence) &&
                  (is_comparison(of_row.precedence) || is_bitwise(of_row.precedence))) ||
                 (row->op == ExpressionOp::kAnd && of_row.op == ExpressionOp::kOr);
    }
    return is_apart ? in_parentheses(of(index)) : of(index);
  }

  const Expression& expression_;
};

}  // namespace

bool Expression::names(ExpressionOp op) const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [op](const ExpressionNode& node) { return node.op == op; });
}

const std::vector<OperatorRow>& binary_operators() {
  static const std::vector<OperatorRow> rows = {
      {ExpressionOp::kAnd, "&&", 2},
      {ExpressionOp::kOr, "||", 1},
      {ExpressionOp::kShiftedLeft, "<<", 8},
      {ExpressionOp::kShiftedRight, ">>", 8},
      {ExpressionOp::kLessOrEqual, "<=", kComparisonPrecedence},
      {ExpressionOp::kGreaterOrEqual, ">=", kComparisonPrecedence},
      {ExpressionOp::kEqual, "==", kEqualityPrecedence},
      {ExpressionOp::kUnequal, "!=", kEqualityPrecedence},
      {ExpressionOp::kLess, "<", kComparisonPrecedence},
      {ExpressionOp::kGreater, ">", kComparisonPrecedence},
      {ExpressionOp::kBitAnd, "&", kBitAndPrecedence},
      {ExpressionOp::kBitXor, "^", 4},
      {ExpressionOp::kBitOr, "|", kBitOrPrecedence},
      {ExpressionOp::kSum, "+", 9},
      {ExpressionOp::kDifference, "-", 9},
      {ExpressionOp::kProduct, "*", 10},
      {ExpressionOp::kQuotient, "/", 10},
      {ExpressionOp::kRemainder, "%", 10},
  };
  return rows;
}

const OperatorRow* find_binary(ExpressionOp op) {
  for (const OperatorRow& row : binary_operators()) {
    if (row.op == op) return &row;
  }
  return nullptr;
}

std::string_view name_of(ExpressionOp op) {
  switch (op) {
    case ExpressionOp::kRow:
      return "q";
    case ExpressionOp::kKey:
      return "k";
    case ExpressionOp::kHead:
      return "h";
    case ExpressionOp::kSeqlenQ:
      return "seqlen_q";
    case ExpressionOp::kSeqlenK:
      return "seqlen_k";
    default:
      return "";
  }
}

std::string text_of(const Expression& expression) {
  return ExpressionText(expression).of(expression.root());
}

}  // namespace sparkbench
