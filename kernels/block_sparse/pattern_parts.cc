#include "kernels/block_sparse/pattern_parts.h"

#include "kernels/base/saturating.h"

namespace sparkbench {
namespace {

constexpr std::uint64_t kPartAlignment = 256;

std::uint64_t row_count(const Problem& problem, int heads, int rows) {
  return saturating_product({static_cast<std::uint64_t>(problem.batch),
                             static_cast<std::uint64_t>(heads), static_cast<std::uint64_t>(rows)});
}

}  // namespace

std::uint64_t WorkspacePlaces::take(std::uint64_t size) {
  const std::uint64_t blocks = end_ / kPartAlignment + (end_ % kPartAlignment != 0 ? 1 : 0);
  const std::uint64_t begin = saturating_product({blocks, kPartAlignment});
  end_ = saturating_sum({begin, size});
  return begin;
}

std::uint64_t part_tensor_bytes(const Problem& problem, int heads, int rows) {
  return saturating_product({row_count(problem, heads, rows),
                             static_cast<std::uint64_t>(problem.head_dim), sizeof(Half)});
}

ForwardPartsWorkspace::ForwardPartsWorkspace(const Problem& problem, int rows) {
  if (rows == 0) return;
  WorkspacePlaces places(0);
  o = places.take(part_tensor_bytes(problem, problem.heads, rows));
  lse = places.take(saturating_product({row_count(problem, problem.heads, rows), sizeof(float)}));
  bytes = places.end();
}

}  // namespace sparkbench
