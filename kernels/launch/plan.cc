#include "kernels/launch/plan.h"

#include <algorithm>

#include "kernels/base/saturating.h"
#include "kernels/launch/serving_instance.h"

namespace sparkbench {

KernelInstance shared_kernel(std::string_view id, std::string_view symbol, int threads,
                             int block_rows, int dynamic_shared_bytes, EmulatedBody* emulate) {
  return {.id = id,
          .symbol = symbol,
          .instruction = MmaInstruction::kM8n8k4,
          .accumulator = Accumulator::kFp32,
          .head_dim = 0,
          .least_head_dim = 0,
          .has_dropout = false,
          .blocks = BlockSource::kDense,
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

/// The workspace of a forward pass, or of a backward pass.
std::uint64_t bytes_of_pass(const PlanPass& plan, PlanRequest request, bool is_forward) {
  const ForwardTensors forward{};
  const BackwardTensors backward{};
  request.forward = is_forward ? &forward : nullptr;
  request.backward = is_forward ? nullptr : &backward;
  request.lists = nullptr;
  request.table_memory = nullptr;
  request.sms = std::max(request.sms, 1);
  DeviceWorkspace workspace;
  plan(request, workspace);
  return workspace.bytes();
}

}  // namespace

std::uint64_t workspace_bytes(const PlanPass& plan, const PlanRequest& request, Pass pass) {
  try {
    const std::uint64_t forward = pass == Pass::kBackward ? 0 : bytes_of_pass(plan, request, true),
                        backward = pass == Pass::kForward ? 0 : bytes_of_pass(plan, request, false);
    return std::max(forward, backward);
  } catch (const NoInstance&) {
    return 0;
  }
}

std::uint64_t WorkspacePlaces::take(std::uint64_t size) {
  const std::uint64_t blocks = end_ / kPartAlignment + (end_ % kPartAlignment != 0 ? 1 : 0);
  const std::uint64_t begin = saturating_product({blocks, kPartAlignment});
  end_ = saturating_sum({begin, size});
  return begin;
}

}  // namespace sparkbench
