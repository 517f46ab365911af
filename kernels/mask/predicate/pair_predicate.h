// A predicate of pairs, as a part of a term (mask/pattern/pattern.h): an expression over positions,
// for fixed lengths and a head. Its memory does not depend on the lengths.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/mask/key_mask.h"
#include "kernels/mask/predicate/evaluate.h"

namespace sparkbench {

class PairPredicate {
 public:
  /// q and k of `names` are ignored.
  PairPredicate(Expression expression, const ExpressionPoint& names);

  bool sees(int q, int k) const;
  /// Bit i is whether row q sees key first + i.
  std::uint64_t word(int q, int first) const;
  /// The cover of a tile with at least one row and one key by interval bounds; kCut if these do not
  /// decide.
  TileCover cover(const Range& rows, const Range& keys) const;

  /// An expression, or its negation.
  struct Factor {
    std::shared_ptr<const Expression> expression;
    bool is_negated;
  };
  /// A pair must satisfy all factors.
  const std::vector<Factor>& factors() const { return factors_; }
  bool is_transposed() const { return is_transposed_; }
  const ExpressionPoint& names() const { return names_; }

  friend std::shared_ptr<const PairPredicate> both(const PairPredicate& a, const PairPredicate& b);
  friend std::shared_ptr<const PairPredicate> complement(const PairPredicate& of);
  friend std::shared_ptr<const PairPredicate> transposed(const PairPredicate& of);
  friend std::shared_ptr<const PairPredicate> of_head(const PairPredicate& of, int head);

 private:
  ExpressionPoint at(int q, int k) const;

  std::vector<Factor> factors_;
  ExpressionPoint names_;
  bool is_transposed_ = false;  // rows are what the expression calls k
};
using SharedPredicate = std::shared_ptr<const PairPredicate>;

/// AND, for the same head and lengths. Throws std::logic_error if these differ.
SharedPredicate both(const PairPredicate& a, const PairPredicate& b);
/// NOT, of a predicate of one factor, which is all that trimming a term takes away. Throws
/// std::logic_error for more factors.
SharedPredicate complement(const PairPredicate& of);
SharedPredicate transposed(const PairPredicate& of);
SharedPredicate of_head(const PairPredicate& of, int head);

}  // namespace sparkbench
