// For tests: expressions drawn at random, of every operator, with numbers at which they go wrong.
#pragma once

#include <random>
#include <string>

#include "kernels/mask/predicate/expression.h"

namespace sparkbench {

inline int drawn_between(std::mt19937& random, int least, int most) {
  return std::uniform_int_distribution<int>(least, most)(random);
}

/// A node of at most `depth` levels, appended to the expression.
inline int add_drawn_node(std::mt19937& random, int depth, Expression& expression) {
  constexpr ExpressionOp kNames[] = {
      ExpressionOp::kRow,  ExpressionOp::kKey,     ExpressionOp::kRow,     ExpressionOp::kKey,
      ExpressionOp::kHead, ExpressionOp::kSeqlenQ, ExpressionOp::kSeqlenK, ExpressionOp::kNumber};
  constexpr Whole kNumbers[] = {0,  1,  2,   3,   7,   8,     31,         32,
                                63, 64, 100, 128, 255, 65536, 2147483647, 9223372036854775807};
  constexpr ExpressionOp kUnary[] = {ExpressionOp::kNot, ExpressionOp::kComplement,
                                     ExpressionOp::kNegative, ExpressionOp::kSize};
  ExpressionNode node{ExpressionOp::kNumber};
  const int kind = depth == 0 ? 0 : drawn_between(random, 0, 9);
  if (kind <= 1) {
    node.op = kNames[drawn_between(random, 0, 7)];
    if (node.op == ExpressionOp::kNumber) node.number = kNumbers[drawn_between(random, 0, 15)];
  } else if (kind == 2) {
    node.op = kUnary[drawn_between(random, 0, 3)];
    node.left = add_drawn_node(random, depth - 1, expression);
  } else {
    const int last = static_cast<int>(binary_operators().size()) - 1;
    node.op = binary_operators()[static_cast<std::size_t>(drawn_between(random, 0, last))].op;
    node.left = add_drawn_node(random, depth - 1, expression);
    node.right = add_drawn_node(random, depth - 1, expression);
  }
  expression.nodes.push_back(node);
  return expression.root();
}

inline Expression drawn_expression(std::mt19937& random) {
  Expression expression;
  add_drawn_node(random, drawn_between(random, 1, 5), expression);
  return expression;
}

}  // namespace sparkbench
