// How a backward pass forms dQ.
//   alone    by a kernel of its own. It computes S and dP again, seven products for five, and each
//            of its sums has one order
//   summed   by the kernel of dK and dV, which adds products to sums in device memory in whatever
//            order blocks come. It writes the sums' memory twice and reads it once besides: it pays
//            where rows see many keys
//   carried  by a kernel for rows that see few keys, which has what a step of queries came to in
//            shared memory until its last keys (backward/carried_kernel.h). It has the bits of dQ
//            alone
#pragma once

#include <algorithm>

#include "kernels/hopper/dispatch.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench::hopper {

enum class DqForm { kAlone, kSummed, kCarried };

/// From so many keys a row on, in the mean, sums took less time on an H100 (ladder.md). With
/// dropout what is dropped is drawn once instead of twice.
constexpr double least_keys_of_sums(int head_dim, bool has_dropout) {
  if (!has_dropout) return 1536;
  return head_dim <= 64 ? 640 : 1280;
}

/// Of sequences of these lengths.
inline double mean_keys(const Problem& problem) {
  if (problem.seqlen_q == 0) return 0;
  return static_cast<double>(visible_pairs(problem.key_mask())) / problem.seqlen_q;
}

/// Of a problem without a pattern.
inline DqForm dq_form(const Problem& problem, bool is_deterministic) {
  if (visit_backward_carried(problem, [](auto, auto) {})) return DqForm::kCarried;
  const bool pays =
      mean_keys(problem) >= least_keys_of_sums(problem.head_dim, problem.dropout().threshold != 0);
  const bool has_kernel = visit_backward_sums<Blocks::kDense>(problem, [](auto, auto) {});
  return !is_deterministic && pays && has_kernel ? DqForm::kSummed : DqForm::kAlone;
}

/// Of so many packed sequences, whose lengths only the device knows: as if they were alike.
inline DqForm packed_dq_form(const Problem& packed, int sequences, bool is_deterministic) {
  Problem one = packed;
  one.seqlen_q /= std::max(sequences, 1);
  one.seqlen_k /= std::max(sequences, 1);
  const DqForm form = dq_form(one, is_deterministic);
  return form == DqForm::kCarried ? DqForm::kAlone : form;
}

}  // namespace sparkbench::hopper
