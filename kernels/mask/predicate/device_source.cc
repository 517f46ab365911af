#include "kernels/mask/predicate/device_source.h"

namespace sparkbench {
namespace {

/// Functions for operators that C does not define for every operand; "" for others.
std::string_view function_of(ExpressionOp op) {
  switch (op) {
    case ExpressionOp::kNegative:
      return "whole_negative";
    case ExpressionOp::kSize:
      return "whole_size";
    case ExpressionOp::kProduct:
      return "whole_product";
    case ExpressionOp::kQuotient:
      return "whole_quotient";
    case ExpressionOp::kRemainder:
      return "whole_remainder";
    case ExpressionOp::kSum:
      return "whole_sum";
    case ExpressionOp::kDifference:
      return "whole_difference";
    case ExpressionOp::kShiftedLeft:
      return "whole_shifted_left";
    case ExpressionOp::kShiftedRight:
      return "whole_shifted_right";
    default:
      return "";
  }
}

std::string c_text_of_node(const Expression& expression, int index) {
  const ExpressionNode& node = expression.node(index);
  if (node.op == ExpressionOp::kNumber) return std::to_string(node.number) + "ll";
  if (node.left < 0) return std::string(name_of(node.op));
  const std::string left = c_text_of_node(expression, node.left);
  const std::string right = node.right < 0 ? "" : c_text_of_node(expression, node.right);
  if (const std::string_view function = function_of(node.op); !function.empty()) {
    return std::string(function) + "(" + left + (right.empty() ? "" : ", ") + right + ")";
  }
  if (node.op == ExpressionOp::kNot) return "Whole(!" + left + ")";
  if (node.op == ExpressionOp::kComplement) return "Whole(~" + left + ")";
  return "Whole(" + left + " " + std::string(find_binary(node.op)->text) + " " + right + ")";
}

}  // namespace

std::string c_text_of(const Expression& expression) {
  return c_text_of_node(expression, expression.root());
}

}  // namespace sparkbench
