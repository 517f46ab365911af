#include "kernels/block_sparse/pattern_parts.h"

#include "kernels/base/saturating.h"

namespace sparkbench {
namespace {

std::uint64_t row_count(const Problem& problem, int heads, int rows) {
  return saturating_product({static_cast<std::uint64_t>(problem.batch),
                             static_cast<std::uint64_t>(heads), static_cast<std::uint64_t>(rows)});
}

}  // namespace

std::uint64_t part_tensor_bytes(const Problem& problem, int heads, int rows) {
  return saturating_product({row_count(problem, heads, rows),
                             static_cast<std::uint64_t>(problem.head_dim), sizeof(Bits16)});
}

std::uint64_t part_lse_bytes(const Problem& problem, int rows) {
  return saturating_product({row_count(problem, problem.heads, rows), sizeof(float)});
}

ForwardParts take_forward_parts(const Problem& problem, int rows, Workspace& workspace) {
  if (rows == 0) return {};
  auto* const o =
      workspace.take<Bits16>("o of parts", part_tensor_bytes(problem, problem.heads, rows));
  return {o, workspace.take<float>("lse of parts", part_lse_bytes(problem, rows))};
}

}  // namespace sparkbench
