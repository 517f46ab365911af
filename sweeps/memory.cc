#include "sweeps/memory.h"

#include "sweeps/saturating.h"

namespace sparkbench {
namespace {

constexpr std::uint64_t kRowAlignmentBytes = 16;

std::uint64_t rows(const Problem& problem, int seqlen) {
  return saturating_product({static_cast<std::uint64_t>(problem.batch),
                             static_cast<std::uint64_t>(problem.heads),
                             static_cast<std::uint64_t>(seqlen)});
}

/// q, k, v and o.
std::uint64_t tensor_elements(const Problem& problem) {
  const std::uint64_t rows_of_all =
      saturating_sum({saturating_product({2, rows(problem, problem.seqlen_q)}),
                      saturating_product({2, rows(problem, problem.seqlen_k)})});
  return saturating_product({rows_of_all, static_cast<std::uint64_t>(problem.head_dim)});
}

}  // namespace

std::uint64_t MemoryPrediction::peak_bytes() const {
  return saturating_sum({io_bytes, workspace_bytes});
}

MemoryPrediction predict_fused_memory(const Problem& problem) {
  const std::uint64_t lse_bytes =
      saturating_product({rows(problem, problem.seqlen_q), sizeof(float)});
  const std::uint64_t half_bytes = saturating_product({tensor_elements(problem), sizeof(Half)});
  return {saturating_sum({half_bytes, lse_bytes}), 0};
}

MemoryPrediction predict_unfused_memory(const Problem& problem, int score_bytes) {
  const auto element_bytes = static_cast<std::uint64_t>(score_bytes);
  const std::uint64_t row_bytes = static_cast<std::uint64_t>(problem.seqlen_k) * element_bytes;
  const std::uint64_t padded_row_bytes =
      (row_bytes + kRowAlignmentBytes - 1) / kRowAlignmentBytes * kRowAlignmentBytes;
  const std::uint64_t scores_bytes =
      saturating_product({rows(problem, problem.seqlen_q), padded_row_bytes});
  const std::uint64_t copies_bytes =
      element_bytes == sizeof(Half) ? 0
                                    : saturating_product({tensor_elements(problem), element_bytes});
  return {predict_fused_memory(problem).io_bytes, saturating_sum({scores_bytes, copies_bytes})};
}

}  // namespace sparkbench
