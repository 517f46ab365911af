#include "kernels/launch/plan.h"

#include "kernels/base/saturating.h"

namespace sparkbench {

KernelInstance shared_kernel(std::string_view id, std::string_view symbol, int threads,
                             int block_rows, int dynamic_shared_bytes,
                             void (*emulate)(EmulatedMachine&, const void*)) {
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kM8n8k4,
          .accumulator = Accumulator::kFp32,
          .head_dim = 0,
          .least_head_dim = 0,
          .has_dropout = false,
          .is_packed = false,
          .is_sparse = false,
          .products = 0,
          .threads = threads,
          .dynamic_shared_bytes = dynamic_shared_bytes,
          .block_rows = block_rows,
          .step_columns = 0,
          .limits = {},
          .emulate = emulate};
}

namespace {

constexpr std::uint64_t kPartAlignment = 256;

}  // namespace

std::uint64_t WorkspacePlaces::take(std::uint64_t size) {
  const std::uint64_t blocks = end_ / kPartAlignment + (end_ % kPartAlignment != 0 ? 1 : 0);
  const std::uint64_t begin = saturating_product({blocks, kPartAlignment});
  end_ = saturating_sum({begin, size});
  return begin;
}

}  // namespace sparkbench
