#include "sweeps/memory.h"

#include "kernels/base/ceil_divide.h"
#include "kernels/base/half.h"
#include "kernels/base/round_up.h"
#include "kernels/base/saturating.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {
namespace {

constexpr std::uint64_t kRowAlignmentBytes = 16;

std::uint64_t rows(int heads, std::size_t tokens) {
  return saturating_product({static_cast<std::uint64_t>(heads), tokens});
}
std::uint64_t query_rows(const Problem& problem) { return rows(problem.heads, problem.total_q()); }
std::uint64_t key_rows(const Problem& problem) {
  return rows(problem.key_heads(), problem.total_k());
}

/// q, k, v and o; with a backward pass also d_o, dq, dk and dv, each as large as its counterpart.
std::uint64_t tensor_elements(Pass pass, const Problem& problem) {
  const std::uint64_t rows_of_all = saturating_sum({query_rows(problem), key_rows(problem)});
  const std::uint64_t tensors_of_a_length = pass == Pass::kForward ? 2 : 4;
  return saturating_product(
      {tensors_of_a_length, rows_of_all, static_cast<std::uint64_t>(problem.head_dim)});
}

std::uint64_t lse_bytes(const Problem& problem) {
  return saturating_product({query_rows(problem), sizeof(float)});
}

/// dV, then dK, of each head in fp32 if heads share keys.
std::uint64_t key_gradient_bytes(const Problem& problem) {
  if (problem.group_size() == 1) return 0;
  return saturating_product({rows(problem.heads, problem.total_k()),
                             static_cast<std::uint64_t>(problem.head_dim), sizeof(float)});
}

/// For a pattern: the bits of each per-head pattern.
std::uint64_t mask_bytes(const Problem& problem) {
  if (!problem.sparse) return 0;
  const auto row_words = static_cast<std::uint64_t>(ceil_divide(problem.seqlen_k, kWordKeys));
  return saturating_product({problem.sparse->pattern.unions.size(),
                             static_cast<std::uint64_t>(problem.seqlen_q), row_words,
                             sizeof(std::uint64_t)});
}

}  // namespace

std::uint64_t offset_bytes(const Problem& problem) {
  if (!problem.lengths) return 0;
  return 2 * (static_cast<std::uint64_t>(problem.batch) + 1) * sizeof(int);
}

std::uint64_t tensor_bytes(Pass pass, const Problem& problem) {
  const std::uint64_t half_bytes =
      saturating_product({tensor_elements(pass, problem), sizeof(Half)});
  return saturating_sum({half_bytes, lse_bytes(problem), offset_bytes(problem)});
}

std::uint64_t unfused_workspace_bytes(Pass pass, const Problem& problem, int score_bytes) {
  if (problem.lengths) {
    std::uint64_t bytes = 0;
    for (int i = 0; i < problem.batch; ++i) {
      bytes = saturating_sum({bytes, unfused_workspace_bytes(pass, problem.alone(i), score_bytes)});
    }
    return bytes;
  }
  const auto element_bytes = static_cast<std::uint64_t>(score_bytes);
  const std::uint64_t row_bytes =
      round_up(static_cast<std::uint64_t>(problem.seqlen_k) * element_bytes, kRowAlignmentBytes);
  const bool keeps_both = problem.dropout().threshold != 0;  // P and dropout(P) differ
  const std::uint64_t matrices = pass == Pass::kForward ? 1 : keeps_both ? 3 : 2;
  const std::uint64_t scores_bytes = saturating_product({matrices, query_rows(problem), row_bytes});
  const std::uint64_t copies_bytes =
      element_bytes == sizeof(Half)
          ? 0
          : saturating_product({tensor_elements(pass, problem), element_bytes});
  const std::uint64_t sums_bytes = pass == Pass::kForward ? 0 : key_gradient_bytes(problem);
  return saturating_sum({scores_bytes, copies_bytes, sums_bytes, mask_bytes(problem)});
}

}  // namespace sparkbench
