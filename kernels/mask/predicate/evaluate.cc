#include "kernels/mask/predicate/evaluate.h"

#include <array>
#include <stdexcept>

#include "kernels/mask/predicate/operations.h"

namespace sparkbench {
namespace {

constexpr int kLanes = 64;

Whole leaf_value(const ExpressionNode& node, const ExpressionPoint& point) {
  switch (node.op) {
    case ExpressionOp::kNumber:
      return node.number;
    case ExpressionOp::kRow:
      return point.q;
    case ExpressionOp::kKey:
      return point.k;
    case ExpressionOp::kHead:
      return point.h;
    case ExpressionOp::kSeqlenQ:
      return point.seqlen_q;
    case ExpressionOp::kSeqlenK:
      return point.seqlen_k;
    default:
      throw std::logic_error("an operator is no name");
  }
}

Whole value_of_node(const Expression& expression, int index, const ExpressionPoint& point) {
  const ExpressionNode& node = expression.node(index);
  if (node.left < 0) return leaf_value(node, point);
  const Whole left = value_of_node(expression, node.left, point);
  if (node.right < 0) {
    return with_unary(node.op, [&](const auto& operation) { return operation(left); });
  }
  const Whole right = value_of_node(expression, node.right, point);
  return with_binary(node.op, [&](const auto& operation) { return operation(left, right); });
}

/// A value of each lane, or one of all.
struct LaneValues {
  bool is_one;
  Whole one;
  std::array<Whole, kLanes> each;

  void set(Whole value) {
    is_one = true;
    one = value;
  }
};

template <class Operation>
void apply(LaneValues& a, const Operation& operation) {
  if (a.is_one) return a.set(operation(a.one));
  for (Whole& value : a.each) value = operation(value);
}

template <class Operation>
void apply(LaneValues& a, const LaneValues& b, const Operation& operation) {
  if (a.is_one && b.is_one) return a.set(operation(a.one, b.one));
  if (a.is_one) {
    for (std::size_t i = 0; i < kLanes; ++i) a.each[i] = operation(a.one, b.each[i]);
  } else if (b.is_one) {
    for (std::size_t i = 0; i < kLanes; ++i) a.each[i] = operation(a.each[i], b.one);
  } else {
    for (std::size_t i = 0; i < kLanes; ++i) a.each[i] = operation(a.each[i], b.each[i]);
  }
  a.is_one = false;
}

class LaneEvaluation {
 public:
  LaneEvaluation(const Expression& expression, const ExpressionPoint& first, bool is_of_keys)
      : expression_(expression),
        first_(first),
        lane_name_(is_of_keys ? ExpressionOp::kKey : ExpressionOp::kRow) {}

  std::uint64_t word() {
    fill(expression_.root(), 0);
    const LaneValues& values = values_[0];
    if (values.is_one) return values.one != 0 ? ~std::uint64_t{0} : 0;
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < kLanes; ++i) {
      word |= static_cast<std::uint64_t>(values.each[i] != 0 ? 1 : 0) << i;
    }
    return word;
  }

 private:
  /// Values of a node in a slot; the slots after it are free.
  void fill(int index, std::size_t slot) {
    const ExpressionNode& node = expression_.node(index);
    LaneValues& values = values_[slot];
    if (node.left < 0) {
      values.set(leaf_value(node, first_));
      if (node.op != lane_name_) return;
      values.is_one = false;
      for (std::size_t i = 0; i < kLanes; ++i) values.each[i] = values.one + static_cast<Whole>(i);
      return;
    }
    fill(node.left, slot);
    if (node.right < 0) {
      with_unary(node.op, [&](const auto& operation) { apply(values, operation); });
      return;
    }
    const bool decides = (node.op == ExpressionOp::kAnd && values.one == 0) ||
                         (node.op == ExpressionOp::kOr && values.one != 0);
    if (values.is_one && decides) return values.set(values.one != 0 ? 1 : 0);
    fill(node.right, slot + 1);
    with_binary(node.op,
                [&](const auto& operation) { apply(values, values_[slot + 1], operation); });
  }

  const Expression& expression_;
  const ExpressionPoint& first_;
  ExpressionOp lane_name_;
  std::array<LaneValues, kMostWaitingValues + 1> values_;
};

}  // namespace

Whole value_of(const Expression& expression, const ExpressionPoint& point) {
  return value_of_node(expression, expression.root(), point);
}

std::uint64_t word_of(const Expression& expression, const ExpressionPoint& first, bool is_of_keys) {
  return LaneEvaluation(expression, first, is_of_keys).word();
}

}  // namespace sparkbench
