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
#include "kernels/testing/test_gpu.h"
#include "kernels/testing/test_sparse.h"

namespace sparkbench {

/// A pass' lists, and where they lie on the GPU.
struct ListsOnGpu {
  ListsOnGpu(const PatternRun& run, Pass pass, bool is_deterministic)
      : lists(run.kernel().sparse.lists(run.problem(), pass, is_deterministic)),
        memory(lists.bytes()) {
    std::vector<std::byte> bytes(lists.bytes());
    lists.write(bytes.data());
    CUDA_CHECK(cudaMemcpy(memory.as<void>(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  }
  PatternLists lists;
  DeviceBuffer memory;
};

/// Both passes, with or without a pattern; a kernel without a backward pass leaves gradients empty.
inline Passes run_on_gpu(const PatternRun& run, bool is_deterministic) {
  const Problem& problem = run.problem();
  const AttentionKernel& kernel = run.kernel();
  const bool has_pattern = problem.sparse != nullptr;
  const DeviceBuffer q = upload(run.inputs().q), k = upload(run.inputs().k),
                     v = upload(run.inputs().v), d_o = upload(run.d_o());
  const std::size_t of_q = problem.q_elements(), of_k = problem.k_elements();
  const DeviceBuffer o = poisoned(of_q * sizeof(Half)), dq = poisoned(of_q * sizeof(Half)),
                     dk = poisoned(of_k * sizeof(Half)), dv = poisoned(of_k * sizeof(Half)),
                     lse = poisoned(problem.lse_elements() * sizeof(float)),
                     workspace(
                         kernel.workspace_bytes(problem, Pass::kForwardBackward, is_deterministic));
  const ForwardTensors forward = contiguous_tensors(problem, q.as<Half>(), k.as<Half>(),
                                                    v.as<Half>(), o.as<Half>(), lse.as<float>());
  if (has_pattern) {
    const ListsOnGpu of(run, Pass::kForward, is_deterministic);
    kernel.sparse.launch_forward(problem, forward, workspace.as<void>(), of.lists,
                                 of.memory.as<void>(), nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());  // before the lists go
  } else {
    kernel.forward.launch(problem, forward, nullptr);
  }
  Passes out{download<Half>(o, of_q), {}, {}, {}, download<float>(lse, problem.lse_elements())};
  const BackwardTensors backward = contiguous_tensors(
      problem, q.as<Half>(), k.as<Half>(), v.as<Half>(), o.as<Half>(), d_o.as<Half>(),
      lse.as<float>(), dq.as<Half>(), dk.as<Half>(), dv.as<Half>());
  if (has_pattern) {
    const ListsOnGpu of(run, Pass::kBackward, is_deterministic);
    kernel.sparse.launch_backward(problem, backward, workspace.as<void>(), of.lists,
                                  of.memory.as<void>(), is_deterministic, nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
  } else {
    kernel.backward.launch(problem, backward, workspace.as<void>(), is_deterministic, nullptr);
  }
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
