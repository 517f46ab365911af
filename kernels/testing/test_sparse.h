// Shared by the tests of patterns: a problem and its passes on the emulated machine; and a
// pattern's attention by its definition, in FP64, pair by pair, from a picture of the visible pairs
// that no code of kernels/mask/pattern/ has drawn.
#pragma once

#include <cmath>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/pattern/test_patterns.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/strided/pass_dropout.h"
#include "kernels/testing/test_options.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {

struct PatternAttention {
  std::vector<double> o, lse, dq, dk, dv;
  /// By how much an error of one in all of dP - D would change dQ and dK. In a row with one key
  /// both are zero, and D's rounding error is not.
  std::vector<double> dq_slack, dk_slack;
};

/// Takes contiguous tensors of one batch entry, which is the dropout mask's `entry`. Head h has the
/// picture h % size.
inline PatternAttention attention_by_pictures(const Problem& problem, const Half* q, const Half* k,
                                              const Half* v, const Half* d_o,
                                              const std::vector<Picture>& pictures, int entry = 0) {
  const int dim = problem.head_dim;
  PatternAttention out{std::vector<double>(problem.q_elements()),
                       std::vector<double>(problem.lse_elements(), -INFINITY),
                       std::vector<double>(problem.q_elements()),
                       std::vector<double>(problem.k_elements()),
                       std::vector<double>(problem.k_elements()),
                       std::vector<double>(problem.q_elements()),
                       std::vector<double>(problem.k_elements())};
  const Dropout dropout = problem.dropout();
  const DropoutViews views = dropout_views_of(problem);
  std::vector<double> p(static_cast<std::size_t>(problem.seqlen_k)), kept(p.size());
  for (int head = 0; head < problem.heads; ++head) {
    const Picture& picture = pictures[static_cast<std::size_t>(head) % pictures.size()];
    for (int row = 0; row < problem.seqlen_q; ++row) {
      const std::size_t at_q = row_offset(0, row, head, problem.seqlen_q, problem.heads, dim);
      const auto at_k = [&](int key) {
        return row_offset(0, key, problem.key_head(head), problem.seqlen_k, problem.key_heads(),
                          dim);
      };
      const auto dot = [&](const Half* a, std::size_t at_a, const Half* b, std::size_t at_b) {
        double sum = 0.0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(dim); ++i) {
          sum += static_cast<double>(to_float(a[at_a + i])) * to_float(b[at_b + i]);
        }
        return sum;
      };
      double total = 0.0;
      for (int key = 0; key < problem.seqlen_k; ++key) {
        const auto index = static_cast<std::size_t>(key);
        p[index] = picture.at(row, key)
                       ? std::exp(static_cast<double>(problem.scale()) * dot(q, at_q, k, at_k(key)))
                       : 0.0;
        total += p[index];
        kept[index] = dropout_keeps(dropout, views.place(entry, head, row, key))
                          ? static_cast<double>(dropout.keep_scale)
                          : 0.0;
      }
      if (total == 0.0) continue;
      out.lse[lse_offset(0, head, row, problem.heads, problem.seqlen_q)] = std::log(total);
      double delta = 0.0;
      for (int key = 0; key < problem.seqlen_k; ++key) {
        const auto index = static_cast<std::size_t>(key);
        p[index] /= total;
        if (p[index] == 0.0) continue;
        delta += p[index] * kept[index] * dot(d_o, at_q, v, at_k(key));
        for (std::size_t i = 0; i < static_cast<std::size_t>(dim); ++i) {
          out.o[at_q + i] += p[index] * kept[index] * to_float(v[at_k(key) + i]);
          out.dv[at_k(key) + i] += p[index] * kept[index] * to_float(d_o[at_q + i]);
        }
      }
      for (int key = 0; key < problem.seqlen_k; ++key) {
        const auto index = static_cast<std::size_t>(key);
        if (p[index] == 0.0) continue;
        const double of_one = static_cast<double>(problem.scale()) * p[index];
        const double ds = of_one * (kept[index] * dot(d_o, at_q, v, at_k(key)) - delta);
        for (std::size_t i = 0; i < static_cast<std::size_t>(dim); ++i) {
          out.dq[at_q + i] += ds * to_float(k[at_k(key) + i]);
          out.dk[at_k(key) + i] += ds * to_float(q[at_q + i]);
          out.dq_slack[at_q + i] += of_one * std::abs(to_float(k[at_k(key) + i]));
          out.dk_slack[at_k(key) + i] += of_one * std::abs(to_float(q[at_q + i]));
        }
      }
    }
  }
  return out;
}

/// The picture of each pattern of a problem's heads, pair by pair by the definition.
inline std::vector<Picture> pictures_of(const Problem& problem) {
  const Pattern& pattern = problem.sparse->pattern;
  std::vector<Picture> pictures;
  for (int i = 0; i < static_cast<int>(pattern.unions.size()); ++i) {
    pictures.emplace_back(problem.seqlen_q, problem.seqlen_k,
                          [&](int row, int key) { return sees(pattern, i, row, key); });
  }
  return pictures;
}

inline Problem with_pattern(Problem problem, std::string_view spec) {
  problem.mask = MaskSpec::full();
  problem.sparse = make_sparse_mask(spec, problem.seqlen_q, problem.seqlen_k);
  return problem;
}

inline Problem with_pattern(Problem problem, const RandomPattern& drawn) {
  SparseMask mask;
  mask.spec = drawn.name;
  mask.pattern = drawn.pattern;
  problem.seqlen_q = mask.pattern.seqlen_q;
  problem.seqlen_k = mask.pattern.seqlen_k;
  problem.sparse = std::make_shared<const SparseMask>(std::move(mask));
  return problem;
}

/// The outputs of both passes of a kernel.
struct Passes {
  std::vector<Half> o, dq, dk, dv;
  std::vector<float> lse;
};

/// A problem, with or without a pattern, with inputs, on the emulated machine.
class PatternRun {
 public:
  PatternRun(std::string_view kernel, Problem problem)
      : PatternRun(kernel, problem, make_inputs(problem, Distribution::kNormal, 3),
                   make_gradient_input(problem, Distribution::kNormal, 3)) {}
  PatternRun(std::string_view kernel, Problem problem, OwnedInputs inputs, std::vector<Half> d_o)
      : kernel_(*find_attention_kernel(kernel)),
        problem_(std::move(problem)),
        inputs_(std::move(inputs)),
        d_o_(std::move(d_o)) {}

  /// On the emulated machine; calls check(report) of each pass.
  template <class Check>
  Passes emulate(const EmulationOptions& options, bool is_deterministic, Check check) const {
    Passes out{std::vector<Half>(problem_.q_elements()), std::vector<Half>(problem_.q_elements()),
               std::vector<Half>(problem_.k_elements()), std::vector<Half>(problem_.k_elements()),
               std::vector<float>(problem_.lse_elements())};
    check(emulate_forward(kernel_, problem_, forward(out), options, {}));
    check(emulate_backward(kernel_, problem_, backward(out), options, is_deterministic, {}));
    return out;
  }
  ForwardTensors forward(Passes& out) const {
    return contiguous_tensors(problem_, inputs_.q.data(), inputs_.k.data(), inputs_.v.data(),
                              out.o.data(), out.lse.data());
  }
  BackwardTensors backward(Passes& out) const {
    return contiguous_tensors(problem_, inputs_.q.data(), inputs_.k.data(), inputs_.v.data(),
                              out.o.data(), d_o_.data(), out.lse.data(), out.dq.data(),
                              out.dk.data(), out.dv.data());
  }
  const OwnedInputs& inputs() const { return inputs_; }
  const std::vector<Half>& d_o() const { return d_o_; }
  const Problem& problem() const { return problem_; }
  const AttentionKernel& kernel() const { return kernel_; }

 private:
  const AttentionKernel& kernel_;
  Problem problem_;
  OwnedInputs inputs_;
  std::vector<Half> d_o_;
};

}  // namespace sparkbench
