// The stages of a layer, each from its inputs, in any arithmetic (layer_math.h). With a fused rest,
// a value is rounded when it is stored: after an epilogue, and after bias, dropout, residual and
// LayerNorm together. Unfused, each operation stores its result. The biases of the output
// projection and of the second product belong to those stages if the rest is unfused, and otherwise
// to the LayerNorm after them.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "reference/encoder/activation.h"
#include "reference/encoder/layer_data.h"
#include "reference/encoder/layer_dropout.h"
#include "reference/encoder/layer_math.h"
#include "reference/inputs/dropout_mask.h"

namespace sparkbench {

/// sum = residual + branch, branch = dropout(x + bias), norm = LayerNorm(sum).
template <class Real>
struct NormedSum {
  Matrix<Real> branch, sum, norm;
};

/// u = x W1 + b1, g = act(u)
template <class Real>
struct Activated {
  Matrix<Real> u, g;
};

/// A sum in a warp's order: each lane sums every 32nd element, then the lanes are summed pairwise.
template <class Real, class F>
Real warp_sum(std::size_t count, F element) {
  Real lanes[32] = {};
  for (std::size_t i = 0; i < count; ++i) lanes[i % 32] += element(i);
  for (std::size_t half = 16; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

template <class Math>
class LayerStages {
 public:
  using Real = typename Math::Real;
  using M = Matrix<Real>;

  LayerStages(Math math, const LayerShape& shape, const Problem& problem,
              const LayerWeights& weights)
      : math_(std::move(math)), shape_(shape), problem_(problem) {
    const auto hidden = static_cast<std::size_t>(shape.hidden);
    const auto ffn = static_cast<std::size_t>(shape.ffn);
    w_qkv = matrix_of<Real>(weights.w_qkv, 3 * hidden, hidden);
    w_o = matrix_of<Real>(weights.w_o, hidden, hidden);
    w_1 = matrix_of<Real>(weights.w_1, ffn, hidden);
    w_2 = matrix_of<Real>(weights.w_2, hidden, ffn);
    b_qkv = matrix_of<Real>(weights.b_qkv, 3, hidden);
    b_o = matrix_of<Real>(weights.b_o, 1, hidden);
    b_1 = matrix_of<Real>(weights.b_1, 1, ffn);
    b_2 = matrix_of<Real>(weights.b_2, 1, hidden);
    gamma[0] = matrix_of<Real>(weights.gamma_1, 1, hidden);
    beta[0] = matrix_of<Real>(weights.beta_1, 1, hidden);
    gamma[1] = matrix_of<Real>(weights.gamma_2, 1, hidden);
    beta[1] = matrix_of<Real>(weights.beta_2, 1, hidden);
  }

  const Math& math() const { return math_; }
  const LayerShape& shape() const { return shape_; }
  const Problem& problem() const { return problem_; }

  /// Q (part 0), K or V of the given input rows.
  M qkv(const M& x, std::size_t part) const {
    const M weight = rows_from(w_qkv, part * w_qkv.columns, w_qkv.columns);
    return biased(math_.product(x, weight), b_qkv.row(part));
  }
  M proj(const M& o) const { return without_epilogue(math_.product(o, w_o), b_o); }
  Activated<Real> ff1(const M& x) const {
    M sums = math_.product(x, w_1);
    Activated<Real> result{sums, M(sums.rows, sums.columns)};
    for (std::size_t i = 0; i < sums.rows; ++i) {
      for (std::size_t j = 0; j < sums.columns; ++j) {
        const Real u = mid(mid(sums.row(i)[j]) + b_1.row(0)[j]);
        result.u.row(i)[j] = Math::round(u);
        result.g.row(i)[j] = Math::round(activation_of(shape_.activation, u));
      }
    }
    return result;
  }
  M ff2(const M& g) const { return without_epilogue(math_.product(g, w_2), b_2); }

  /// The LayerNorm `which`, 0 or 1, of the given rows.
  M norm(const M& z, std::size_t which) const {
    M normed(z.rows, z.columns);
    for (std::size_t i = 0; i < z.rows; ++i) {
      normalize(z.row(i), which, normed.row(i));
    }
    return normed;
  }

  /// For rows from `first_row` on, with LayerNorm number `which`.
  NormedSum<Real> add_norm(DropoutSite site, const M& x, const M& residual, std::size_t which,
                           std::size_t first_row) const {
    const M& bias = site == DropoutSite::kFirst ? b_o : b_2;
    const bool adds_bias = shape_.rest == Rest::kFused;
    NormedSum<Real> result{M(x.rows, x.columns), M(x.rows, x.columns), M(x.rows, x.columns)};
    for (std::size_t i = 0; i < x.rows; ++i) {
      for (std::size_t j = 0; j < x.columns; ++j) {
        const Real value = adds_bias ? x.row(i)[j] + bias.row(0)[j] : x.row(i)[j];
        const Real branch = mid(value * kept(site, first_row + i, j));
        result.branch.row(i)[j] = branch;
        result.sum.row(i)[j] = mid(branch + residual.row(i)[j]);
      }
      normalize(result.sum.row(i), which, result.norm.row(i));
      for (Real& value : result.sum.row(i)) value = Math::round(value);
    }
    return result;
  }

  /// The dropout factor of an element.
  Real kept(DropoutSite site, std::size_t row, std::size_t column) const {
    const Dropout dropout = problem_.dropout();
    if (dropout.threshold == 0) return 1;
    const auto scale = static_cast<Real>(exact_keep_scale(problem_));
    return layer_keeps(dropout, site, static_cast<std::uint32_t>(row),
                       static_cast<std::uint32_t>(column))
               ? scale
               : Real{0};
  }

  /// Mean, and 1 / sqrt(variance + epsilon), in two passes over the row.
  static std::pair<Real, Real> statistics(std::span<const Real> z) {
    const auto count = static_cast<Real>(z.size());
    const Real mean = warp_sum<Real>(z.size(), [&](std::size_t j) { return z[j]; }) / count;
    const Real variance =
        warp_sum<Real>(z.size(), [&](std::size_t j) { return (z[j] - mean) * (z[j] - mean); }) /
        count;
    return {mean, 1 / std::sqrt(variance + static_cast<Real>(kLayerNormEpsilon))};
  }

  M w_qkv, w_o, w_1, w_2, b_qkv, b_o, b_1, b_2, gamma[2], beta[2];

 private:
  /// A value that an unfused layer stores between two operations.
  Real mid(Real value) const { return shape_.rest == Rest::kUnfused ? Math::round(value) : value; }

  M biased(M sums, std::span<const Real> bias) const {
    for (std::size_t i = 0; i < sums.rows; ++i) {
      for (std::size_t j = 0; j < sums.columns; ++j) {
        sums.row(i)[j] = Math::round(mid(sums.row(i)[j]) + bias[j]);
      }
    }
    return sums;
  }
  M without_epilogue(M sums, const M& bias) const {
    if (shape_.rest == Rest::kUnfused) return biased(std::move(sums), bias.row(0));
    for (Real& value : sums.values) value = Math::round(value);
    return sums;
  }

  void normalize(std::span<const Real> z, std::size_t which, std::span<Real> normed) const {
    const auto [mean, rstd] = statistics(z);
    for (std::size_t j = 0; j < z.size(); ++j) {
      normed[j] =
          Math::round((z[j] - mean) * rstd * gamma[which].row(0)[j] + beta[which].row(0)[j]);
    }
  }

  Math math_;
  LayerShape shape_;
  Problem problem_;
};

}  // namespace sparkbench
