#include "sweeps/memory.h"

#include "kernels/half.h"
#include "kernels/round_up.h"
#include "kernels/saturating.h"

namespace sparkbench {
namespace {

constexpr std::uint64_t kRowAlignmentBytes = 16;

std::uint64_t rows(const Problem& problem, int seqlen) {
  return saturating_product({static_cast<std::uint64_t>(problem.batch),
                             static_cast<std::uint64_t>(problem.heads),
                             static_cast<std::uint64_t>(seqlen)});
}

/// q, k, v and o; with a backward pass d_o, dq, dk and dv too, each as large as its counterpart.
std::uint64_t tensor_elements(Pass pass, const Problem& problem) {
  const std::uint64_t rows_of_all =
      saturating_sum({rows(problem, problem.seqlen_q), rows(problem, problem.seqlen_k)});
  const std::uint64_t tensors_of_a_length = pass == Pass::kForward ? 2 : 4;
  return saturating_product(
      {tensors_of_a_length, rows_of_all, static_cast<std::uint64_t>(problem.head_dim)});
}

std::uint64_t lse_bytes(const Problem& problem) {
  return saturating_product({rows(problem, problem.seqlen_q), sizeof(float)});
}

}  // namespace

std::uint64_t tensor_bytes(Pass pass, const Problem& problem) {
  const std::uint64_t half_bytes =
      saturating_product({tensor_elements(pass, problem), sizeof(Half)});
  return saturating_sum({half_bytes, lse_bytes(problem)});
}

std::uint64_t unfused_workspace_bytes(Pass pass, const Problem& problem, int score_bytes) {
  const auto element_bytes = static_cast<std::uint64_t>(score_bytes);
  const std::uint64_t row_bytes =
      round_up(static_cast<std::uint64_t>(problem.seqlen_k) * element_bytes, kRowAlignmentBytes);
  const bool keeps_both = problem.dropout().threshold != 0;  // P and dropout(P) differ
  const std::uint64_t matrices = pass == Pass::kForward ? 1 : keeps_both ? 3 : 2;
  const std::uint64_t scores_bytes =
      saturating_product({matrices, rows(problem, problem.seqlen_q), row_bytes});
  const std::uint64_t copies_bytes =
      element_bytes == sizeof(Half)
          ? 0
          : saturating_product({tensor_elements(pass, problem), element_bytes});
  return saturating_sum({scores_bytes, copies_bytes});
}

}  // namespace sparkbench
