// How a backward pass forms dQ.
//   alone    in a kernel of its own. It recomputes S and dP, seven products instead of five, and
//            each of its sums has one order
//   summed   in the dK/dV kernel, which adds products to sums in device memory, in whatever order
//            blocks come. The sums are written twice and read once more: it pays if rows see many
//            keys
//   carried  in a fused kernel for rows that see few keys, which keeps the sum of a step of queries
//            in shared memory until its last keys (backward/carried_kernel.h). It has the bits of
//            dQ alone
#pragma once

#include <algorithm>

#include "kernels/hopper/dispatch.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench::hopper {

enum class DqForm { kAlone, kSummed, kCarried };

/// From so many keys per row on, in the mean, sums took less time on an H100 (ladder.md). With
/// dropout the mask is drawn once instead of twice.
constexpr double least_keys_of_sums(int head_dim, bool has_dropout) {
  if (!has_dropout) return 1536;
  return head_dim <= 64 ? 640 : 1280;
}

/// Keys that a row sees, in the mean.
inline double mean_keys(const Problem& problem) {
  if (problem.seqlen_q == 0) return 0;
  return static_cast<double>(visible_pairs(problem.key_mask())) / problem.seqlen_q;
}

/// The problem must not have a pattern.
inline DqForm dq_form(const Problem& problem, bool is_deterministic) {
  if (find_carried(problem) != nullptr) return DqForm::kCarried;
  const bool pays =
      mean_keys(problem) >= least_keys_of_sums(problem.head_dim, problem.dropout().threshold != 0);
  const bool has_kernel = find_instance(wish_of(problem, "bwd", kSummedProducts)) != nullptr;
  return !is_deterministic && pays && has_kernel ? DqForm::kSummed : DqForm::kAlone;
}

/// For varlen, whose lengths only the device knows: as if all sequences were equally long.
inline DqForm packed_dq_form(const Problem& packed, int sequences, bool is_deterministic) {
  Problem one = packed;
  one.seqlen_q /= std::max(sequences, 1);
  one.seqlen_k /= std::max(sequences, 1);
  const DqForm form = dq_form(one, is_deterministic);
  return form == DqForm::kCarried ? DqForm::kAlone : form;
}

}  // namespace sparkbench::hopper
