#include "kernels/mask/predicate/pair_predicate.h"

#include <stdexcept>
#include <utility>

namespace sparkbench {
namespace {

bool are_same_names(const ExpressionPoint& a, const ExpressionPoint& b) {
  return a.h == b.h && a.seqlen_q == b.seqlen_q && a.seqlen_k == b.seqlen_k;
}

}  // namespace

PairPredicate::PairPredicate(Expression expression, const ExpressionPoint& names)
    : factors_{{std::make_shared<const Expression>(std::move(expression)), false}}, names_(names) {}

ExpressionPoint PairPredicate::at(int q, int k) const {
  ExpressionPoint point = names_;
  point.q = is_transposed_ ? k : q;
  point.k = is_transposed_ ? q : k;
  return point;
}

bool PairPredicate::sees(int q, int k) const {
  const ExpressionPoint point = at(q, k);
  for (const Factor& factor : factors_) {
    if ((value_of(*factor.expression, point) != 0) == factor.is_negated) return false;
  }
  return true;
}

std::uint64_t PairPredicate::word(int q, int first) const {
  constexpr int kKeys = 64;
  const ExpressionPoint begin = at(q, first), end = at(q, first + kKeys - 1);
  std::uint64_t word = ~std::uint64_t{0};
  for (const Factor& factor : factors_) {
    const WholeBounds bounds = bounds_of(*factor.expression, begin, end);
    const bool is_known = bounds.least > 0 || bounds.most < 0 || bounds.least == bounds.most;
    const std::uint64_t of_factor = is_known ? (bounds.least != 0 ? ~std::uint64_t{0} : 0)
                                             : word_of(*factor.expression, begin, !is_transposed_);
    word &= factor.is_negated ? ~of_factor : of_factor;
    if (word == 0) break;
  }
  return word;
}

TileCover PairPredicate::cover(const Range& rows, const Range& keys) const {
  const ExpressionPoint first = at(rows.begin, keys.begin), last = at(rows.end - 1, keys.end - 1);
  TileCover cover = TileCover::kFull;
  for (const Factor& factor : factors_) {
    const WholeBounds bounds = bounds_of(*factor.expression, first, last);
    const bool is_never = bounds.least == 0 && bounds.most == 0;
    const bool is_ever = bounds.least > 0 || bounds.most < 0;
    if (factor.is_negated ? is_ever : is_never) return TileCover::kEmpty;
    if (!(factor.is_negated ? is_never : is_ever)) cover = TileCover::kCut;
  }
  return cover;
}

SharedPredicate both(const PairPredicate& a, const PairPredicate& b) {
  if (!are_same_names(a.names_, b.names_) || a.is_transposed_ != b.is_transposed_) {
    throw std::logic_error("predicates of unlike heads or lengths");
  }
  PairPredicate joined = a;
  joined.factors_.insert(joined.factors_.end(), b.factors_.begin(), b.factors_.end());
  return std::make_shared<const PairPredicate>(std::move(joined));
}

SharedPredicate complement(const PairPredicate& of) {
  if (of.factors_.size() != 1) throw std::logic_error("a complement of several expressions");
  PairPredicate other = of;
  other.factors_[0].is_negated = !other.factors_[0].is_negated;
  return std::make_shared<const PairPredicate>(std::move(other));
}

SharedPredicate transposed(const PairPredicate& of) {
  PairPredicate other = of;
  other.is_transposed_ = !other.is_transposed_;
  return std::make_shared<const PairPredicate>(std::move(other));
}

SharedPredicate of_head(const PairPredicate& of, int head) {
  PairPredicate other = of;
  other.names_.h = head;
  return std::make_shared<const PairPredicate>(std::move(other));
}

}  // namespace sparkbench
