// A layer's forward and backward pass over the tokens of a problem, in any arithmetic.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "reference/encoder/layer_stages.h"

namespace sparkbench {

/// The tokens that go through the layer. K and V cover all tokens.
struct LayerRows {
  std::size_t first = 0, count = 0;
};

/// Results of a forward pass for the requested rows; k, v and, for pre-LN, n1 for all rows.
template <class Real>
struct LayerValues {
  Matrix<Real> n1;  // pre-LN: LN1(x)
  Matrix<Real> q, k, v, o, a;
  NormedSum<Real> first;  // post-LN: h is its norm; pre-LN: h is its sum, and LN2(h) its norm
  Activated<Real> inner;
  Matrix<Real> f;
  NormedSum<Real> second;  // post-LN: y is its norm; pre-LN: its sum

  const Matrix<Real>& y(NormPlace norm) const {
    return norm == NormPlace::kPost ? second.norm : second.sum;
  }
};

template <class Math>
LayerValues<typename Math::Real> layer_forward(
    const LayerStages<Math>& stages, const Matrix<typename Math::Real>& x, const LayerRows& rows,
    const AttentionFunctions<typename Math::Real>& attention) {
  const bool is_post = stages.shape().norm == NormPlace::kPost;
  LayerValues<typename Math::Real> values;
  if (!is_post) values.n1 = stages.norm(x, 0);
  const auto& input = is_post ? x : values.n1;
  values.q = stages.qkv(rows_from(input, rows.first, rows.count), 0);
  values.k = stages.qkv(input, 1);
  values.v = stages.qkv(input, 2);
  values.o = attention.forward(values.q, values.k, values.v, static_cast<int>(rows.first));
  values.a = stages.proj(values.o);
  values.first = stages.add_norm(DropoutSite::kFirst, values.a,
                                 rows_from(x, rows.first, rows.count), is_post ? 0 : 1, rows.first);
  values.inner = stages.ff1(values.first.norm);
  values.f = stages.ff2(values.inner.g);
  values.second = stages.add_norm(DropoutSite::kSecond, values.f,
                                  is_post ? values.first.norm : values.first.sum, 1, rows.first);
  return values;
}

/// By the names of the errors.
template <class Real>
using LayerGradients = std::vector<std::pair<std::string_view, Matrix<Real>>>;

/// The backward pass for all rows, from the stored forward values.
template <class Math>
class LayerBackward {
 public:
  using Real = typename Math::Real;
  using M = Matrix<Real>;

  LayerBackward(const LayerStages<Math>& stages, const M& x, const LayerValues<Real>& values,
                const AttentionFunctions<Real>& attention)
      : stages_(stages), x_(x), values_(values), attention_(attention) {}

  LayerGradients<Real> run(const M& d_y) {
    if (stages_.shape().norm == NormPlace::kPost) {
      const M d_z2 = norm_backward(d_y, values_.second.sum, 1);
      const M d_h = sum(d_z2, feed_forward(dropped(DropoutSite::kSecond, d_z2)));
      const M d_z1 = norm_backward(d_h, values_.first.sum, 0);
      keep("dx", sum(d_z1, attend(dropped(DropoutSite::kFirst, d_z1), x_)));
    } else {
      const M d_n2 = feed_forward(dropped(DropoutSite::kSecond, d_y));
      const M d_h = sum(d_y, norm_backward(d_n2, values_.first.sum, 1));
      const M d_n1 = attend(dropped(DropoutSite::kFirst, d_h), values_.n1);
      keep("dx", sum(d_h, norm_backward(d_n1, x_, 0)));
    }
    return std::move(gradients_);
  }

 private:
  void keep(std::string_view name, M gradient) {
    gradients_.emplace_back(name, std::move(gradient));
  }

  M rounded(M matrix) const {
    for (Real& value : matrix.values) value = Math::round(value);
    return matrix;
  }
  M sum(const M& a, const M& b) const {
    return combined(a, b, [](Real x, Real y) { return Math::round(x + y); });
  }
  M dropped(DropoutSite site, const M& gradient) const {
    M branch = gradient;
    for (std::size_t i = 0; i < branch.rows; ++i) {
      for (std::size_t j = 0; j < branch.columns; ++j) {
        branch.row(i)[j] = Math::round(branch.row(i)[j] * stages_.kept(site, i, j));
      }
    }
    return branch;
  }
  M column_sums(const M& of) const {
    M sums(1, of.columns);
    for (std::size_t j = 0; j < of.columns; ++j) {
      sums.row(0)[j] =
          Math::round(warp_sum<Real>(of.rows, [&](std::size_t i) { return of.row(i)[j]; }));
    }
    return sums;
  }
  /// Stores dY^T X and the column sums of dY.
  void weight_gradients(std::string_view weight, std::string_view bias, const M& d_y, const M& x) {
    keep(weight, rounded(stages_.math().product(transposed(d_y), transposed(x))));
    if (stages_.shape().bias) keep(bias, column_sums(d_y));
  }

  /// The gradient of z, given that of LN(z).
  M norm_backward(const M& d_n, const M& z, std::size_t which) {
    M d_z(z.rows, z.columns), d_gamma(z.rows, z.columns);
    const auto count = static_cast<Real>(z.columns);
    for (std::size_t i = 0; i < z.rows; ++i) {
      const auto [mean, rstd] = LayerStages<Math>::statistics(z.row(i));
      const auto hat = [&, mean = mean, rstd = rstd](std::size_t j) {
        return (z.row(i)[j] - mean) * rstd;
      };
      const auto d_hat = [&](std::size_t j) {
        return d_n.row(i)[j] * stages_.gamma[which].row(0)[j];
      };
      const Real of_one = warp_sum<Real>(z.columns, d_hat) / count;
      const Real of_hat =
          warp_sum<Real>(z.columns, [&](std::size_t j) { return d_hat(j) * hat(j); }) / count;
      for (std::size_t j = 0; j < z.columns; ++j) {
        d_z.row(i)[j] = Math::round(rstd * (d_hat(j) - of_one - hat(j) * of_hat));
        d_gamma.row(i)[j] = d_n.row(i)[j] * hat(j);
      }
    }
    keep(which == 0 ? "dgamma1" : "dgamma2", column_sums(d_gamma));
    keep(which == 0 ? "dbeta1" : "dbeta2", column_sums(d_n));
    return d_z;
  }

  /// From the gradient of f to that of the block's input.
  M feed_forward(const M& d_f) {
    weight_gradients("dW2", "db2", d_f, values_.inner.g);
    const M d_g = stages_.math().product(d_f, transposed(stages_.w_2));
    const bool stores = stages_.shape().rest == Rest::kUnfused;
    const M d_u = combined(d_g, values_.inner.u, [&](Real d, Real u) {
      const Real stored = stores ? Math::round(d) : d;
      return Math::round(stored * derivative_of(stages_.shape().activation, u));
    });
    weight_gradients("dW1", "db1", d_u, values_.first.norm);
    return rounded(stages_.math().product(d_u, transposed(stages_.w_1)));
  }

  /// From the gradient of a to that of `input`, from which Q, K and V are computed.
  M attend(const M& d_a, const M& input) {
    weight_gradients("dWo", "dbo", d_a, values_.o);
    const M d_o = rounded(stages_.math().product(d_a, transposed(stages_.w_o)));
    const AttentionGradients<Real> of = attention_.backward(values_.q, values_.k, values_.v, d_o);
    M d_qkv(d_o.rows, 3 * d_o.columns);
    for (std::size_t i = 0; i < d_o.rows; ++i) {
      std::size_t at = 0;
      for (const M* part : {&of.dq, &of.dk, &of.dv}) {
        for (const Real value : part->row(i)) d_qkv.row(i)[at++] = value;
      }
    }
    weight_gradients("dWqkv", "dbqkv", d_qkv, input);
    return rounded(stages_.math().product(d_qkv, transposed(stages_.w_qkv)));
  }

  const LayerStages<Math>& stages_;
  const M& x_;
  const LayerValues<Real>& values_;
  const AttentionFunctions<Real>& attention_;
  LayerGradients<Real> gradients_;
};

}  // namespace sparkbench
