// Shared by the varlen tests: a varlen problem with its tensors on the host.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/registry.h"
#include "kernels/testing/same_bits.h"
#include "kernels/testing/test_problems.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {

struct PackedRows;
struct PackedGradients;

/// Tensors of all sequences, and of one of them as any entry of a batch.
template <class Tensors>
struct PackedTensors;

/// A varlen batch with its inputs.
struct PackedCase {
  Problem problem;  // Problem::packed()
  std::vector<Lengths> seqlens;
  std::vector<int> cu_seqlens_q, cu_seqlens_k;
  OwnedInputs inputs;
  std::vector<Half> d_o;

  PackedCase(const Problem& of_one, std::vector<Lengths> of_each)
      : problem(of_one), seqlens(std::move(of_each)), cu_seqlens_q{0}, cu_seqlens_k{0} {
    for (const Lengths& lengths : seqlens) {
      cu_seqlens_q.push_back(cu_seqlens_q.back() + lengths.seqlen_q);
      cu_seqlens_k.push_back(cu_seqlens_k.back() + lengths.seqlen_k);
    }
    problem.seqlen_q = cu_seqlens_q.back();
    problem.seqlen_k = cu_seqlens_k.back();
    inputs = make_inputs(problem, Distribution::kNormal, 7);
    d_o = make_gradient_input(problem, Distribution::kNormal, 7);
  }

  int batch() const { return static_cast<int>(seqlens.size()); }
  PackedLengths lengths() const { return {batch(), cu_seqlens_q.data(), cu_seqlens_k.data()}; }
  inline PackedTensors<ForwardTensors> tensors(PackedRows& rows) const;
  inline PackedTensors<BackwardTensors> tensors(const PackedRows& rows,
                                                PackedGradients& gradients) const;

  bool same_query(const std::vector<Half>& a, const std::vector<Half>& b, int row) const {
    return same_row(a, b, row, problem.heads);
  }
  bool same_key(const std::vector<Half>& a, const std::vector<Half>& b, int row) const {
    return same_row(a, b, row, problem.key_heads());
  }

 private:
  bool same_row(const std::vector<Half>& a, const std::vector<Half>& b, int row, int heads) const {
    const std::size_t at = row_offset(0, row, 0, 0, heads, problem.head_dim);
    const std::size_t bytes = row_offset(0, 1, 0, 0, heads, problem.head_dim) * sizeof(Half);
    return std::memcmp(&a[at], &b[at], bytes) == 0;
  }
};

/// Poisoned until a kernel writes them.
struct PackedRows {
  std::vector<Half> o;
  std::vector<float> lse;

  explicit PackedRows(const PackedCase& of, Half value = {0x7fff}, float of_lse = NAN)
      : o(of.problem.q_elements(), value), lse(of.problem.lse_elements(), of_lse) {}
  static PackedRows of_no_key(const PackedCase& of) { return PackedRows(of, {0}, -INFINITY); }
};

struct PackedGradients {
  std::vector<Half> dq, dk, dv;

  explicit PackedGradients(const PackedCase& of, Half value = {0x7fff})
      : dq(of.problem.q_elements(), value),
        dk(of.problem.k_elements(), value),
        dv(of.problem.k_elements(), value) {}
  static PackedGradients zeros(const PackedCase& of) { return PackedGradients(of, {0}); }
};

/// From the first row of a sequence on, for every entry of a batch.
template <class T>
TensorView<T> from_row(const TensorView<T>& view, const std::vector<int>& cu_seqlens,
                       int sequence) {
  return {view.row(0, cu_seqlens[static_cast<std::size_t>(sequence)], 0), 0, view.seqlen_stride,
          view.head_stride};
}

template <>
struct PackedTensors<ForwardTensors> {
  ForwardTensors all;

  operator const ForwardTensors&() const { return all; }  // NOLINT(google-explicit-constructor)
  ForwardTensors from(const PackedCase& made, int sequence) const {
    const auto q = [&](const auto& view) { return from_row(view, made.cu_seqlens_q, sequence); };
    const auto k = [&](const auto& view) { return from_row(view, made.cu_seqlens_k, sequence); };
    return {q(all.q), k(all.k), k(all.v), q(all.o), nullptr};
  }
};

template <>
struct PackedTensors<BackwardTensors> {
  BackwardTensors all;

  operator const BackwardTensors&() const { return all; }  // NOLINT(google-explicit-constructor)
  BackwardTensors from(const PackedCase& made, int sequence) const {
    const auto q = [&](const auto& view) { return from_row(view, made.cu_seqlens_q, sequence); };
    const auto k = [&](const auto& view) { return from_row(view, made.cu_seqlens_k, sequence); };
    return {q(all.q), k(all.k),  k(all.v),  q(all.o), q(all.d_o),
            nullptr,  q(all.dq), k(all.dk), k(all.dv)};
  }
};

inline PackedTensors<ForwardTensors> PackedCase::tensors(PackedRows& rows) const {
  return {contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                             rows.o.data(), rows.lse.data())};
}
inline PackedTensors<BackwardTensors> PackedCase::tensors(const PackedRows& rows,
                                                          PackedGradients& gradients) const {
  return {contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                             rows.o.data(), d_o.data(), rows.lse.data(), gradients.dq.data(),
                             gradients.dk.data(), gradients.dv.data())};
}

}  // namespace sparkbench
