// Shared by the tests of patterns on GPUs: passes of a kernel with block-sparse metadata on the
// GPU, and their bits against the emulated machine's with the arithmetic that the GPU has.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/launch/run_gpu.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_gpu.h"
#include "kernels/testing/test_sparse.h"

namespace sparkbench {

/// A pass' lists, and where they lie on the GPU.
struct ListsOnGpu {
  ListsOnGpu(const PatternRun& run, Pass pass, bool is_deterministic)
      : lists(sparse_lists(run.kernel(), run.problem(), pass, is_deterministic)),
        memory(lists.bytes()) {
    std::vector<std::byte> bytes(lists.bytes());
    lists.write(bytes.data());
    CUDA_CHECK(cudaMemcpy(memory.as<void>(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  }
  PatternLists lists;
  DeviceBuffer memory;
};

/// Runs a pass, with its lists where it has a pattern.
inline void launch_on_gpu(const PatternRun& run, Pass pass, PlanRequest request, void* workspace) {
  if (run.problem().sparse == nullptr) {
    return run_on_stream(plan_on_gpu(run.kernel(), request, workspace), nullptr);
  }
  const ListsOnGpu of(run, pass, request.is_deterministic);
  request.lists = &of.lists;
  request.list_memory = of.memory.as<void>();
  run_on_stream(plan_on_gpu(run.kernel(), request, workspace), nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());  // before the lists go
}

/// Both passes, with or without a pattern; a kernel without a backward pass leaves gradients empty.
inline Passes run_on_gpu(const PatternRun& run, bool is_deterministic) {
  const Problem& problem = run.problem();
  const AttentionKernel& kernel = run.kernel();
  const DeviceBuffer q = upload(run.inputs().q), k = upload(run.inputs().k),
                     v = upload(run.inputs().v), d_o = upload(run.d_o());
  const std::size_t of_q = problem.q_elements(), of_k = problem.k_elements();
  const DeviceBuffer o = poisoned(of_q * sizeof(Half)), dq = poisoned(of_q * sizeof(Half)),
                     dk = poisoned(of_k * sizeof(Half)), dv = poisoned(of_k * sizeof(Half)),
                     lse = poisoned(problem.lse_elements() * sizeof(float)),
                     workspace(workspace_bytes(kernel, problem, Pass::kForwardBackward,
                                               is_deterministic));
  const ForwardTensors forward = contiguous_tensors(problem, q.as<Half>(), k.as<Half>(),
                                                    v.as<Half>(), o.as<Half>(), lse.as<float>());
  launch_on_gpu(run, Pass::kForward, forward_request(problem, forward), workspace.as<void>());
  Passes out{download<Half>(o, of_q), {}, {}, {}, download<float>(lse, problem.lse_elements())};
  const BackwardTensors backward = contiguous_tensors(
      problem, q.as<Half>(), k.as<Half>(), v.as<Half>(), o.as<Half>(), d_o.as<Half>(),
      lse.as<float>(), dq.as<Half>(), dk.as<Half>(), dv.as<Half>());
  launch_on_gpu(run, Pass::kBackward, backward_request(problem, backward, is_deterministic),
                workspace.as<void>());
  out.dq = download<Half>(dq, of_q);
  out.dk = download<Half>(dk, of_k);
  out.dv = download<Half>(dv, of_k);
  return out;
}

/// A gradient whose sums have an order of their own, or any, by that of a deterministic pass.
inline void expect_near(const std::vector<Half>& summed, const std::vector<Half>& alone) {
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const float value = to_float(alone[i]);
    EXPECT_NEAR(to_float(summed[i]), value, 0.01f * std::max(1.0f, std::fabs(value))) << i;
    if (testing::Test::HasFailure()) break;
  }
}

/// Compares bits. Returns how many elements were compared.
inline std::size_t expect_emulated_bits(std::string_view kernel, const Problem& problem) {
  const PatternRun run(kernel, problem);
  const Passes want =
      run.emulate(options_of(run.kernel(), &native_profile(run.kernel().instruction)), true,
                  [](const auto&) {});
  const Passes got = run_on_gpu(run, true);
  EXPECT_EQ(got.lse, want.lse);
  EXPECT_EQ(count_different(got.o, want.o), 0u);
  const Passes atomic = run_on_gpu(run, false);
  EXPECT_EQ(count_different(got.dq, want.dq), 0u);
  EXPECT_EQ(count_different(got.dk, want.dk), 0u);
  EXPECT_EQ(count_different(got.dv, want.dv), 0u);
  EXPECT_EQ(count_different(atomic.dk, want.dk), 0u);
  EXPECT_EQ(count_different(atomic.dv, want.dv), 0u);
  expect_near(atomic.dq, got.dq);
  return 2 * got.o.size() + 4 * got.dk.size();
}

}  // namespace sparkbench
