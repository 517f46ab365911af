// Patterns in the Volta kernels on the GPU at hand: bit for bit against the emulated machine with
// the arithmetic that m8n8k4 has there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernels/pattern_lists.h"
#include "kernels/volta/test_gpu.h"
#include "kernels/volta/test_sparse.h"

namespace sparkbench {
namespace {

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

Passes run_on_gpu(const PatternRun& run, bool is_deterministic) {
  const Problem& problem = run.problem();
  const DeviceBuffer q = upload(run.inputs().q), k = upload(run.inputs().k),
                     v = upload(run.inputs().v), d_o = upload(run.d_o());
  const std::size_t of_q = problem.q_elements(), of_k = problem.k_elements();
  const DeviceBuffer o = poisoned(of_q * sizeof(Half)), dq = poisoned(of_q * sizeof(Half)),
                     dk = poisoned(of_k * sizeof(Half)), dv = poisoned(of_k * sizeof(Half)),
                     lse = poisoned(problem.lse_elements() * sizeof(float)),
                     workspace(run.kernel().workspace_bytes(problem, Pass::kForwardBackward,
                                                            is_deterministic));
  const ListsOnGpu forward(run, Pass::kForward, is_deterministic);
  run.kernel().sparse.launch_forward(
      problem,
      contiguous_tensors(problem, q.as<Half>(), k.as<Half>(), v.as<Half>(), o.as<Half>(),
                         lse.as<float>()),
      workspace.as<void>(), forward.lists, forward.memory.as<void>(), nullptr);
  if (!run.has_backward()) {
    CUDA_CHECK(cudaDeviceSynchronize());
    return {download<Half>(o, of_q), {}, {}, {}, download<float>(lse, problem.lse_elements())};
  }
  const ListsOnGpu backward(run, Pass::kBackward, is_deterministic);
  run.kernel().sparse.launch_backward(
      problem,
      contiguous_tensors(problem, q.as<Half>(), k.as<Half>(), v.as<Half>(), o.as<Half>(),
                         d_o.as<Half>(), lse.as<float>(), dq.as<Half>(), dk.as<Half>(),
                         dv.as<Half>()),
      workspace.as<void>(), backward.lists, backward.memory.as<void>(), is_deterministic, nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  return {download<Half>(o, of_q), download<Half>(dq, of_q), download<Half>(dk, of_k),
          download<Half>(dv, of_k), download<float>(lse, problem.lse_elements())};
}

std::size_t count_different(const std::vector<Half>& a, const std::vector<Half>& b) {
  std::size_t different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different += a[i].bits != b[i].bits;
  return different;
}

/// Of the bits, and how many elements were compared.
std::size_t expect_emulated_bits(std::string_view kernel, const Problem& problem) {
  const PatternRun run(kernel, problem);
  const Passes want = run.emulate({.profile = &native_profile()}, true, [](const auto&) {});
  const Passes got = run_on_gpu(run, true);
  EXPECT_EQ(got.lse, want.lse);
  EXPECT_EQ(count_different(got.o, want.o), 0u);
  if (!run.has_backward()) return got.o.size();
  const Passes atomic = run_on_gpu(run, false);
  EXPECT_EQ(count_different(got.dq, want.dq), 0u);
  EXPECT_EQ(count_different(got.dk, want.dk), 0u);
  EXPECT_EQ(count_different(got.dv, want.dv), 0u);
  EXPECT_EQ(count_different(atomic.dk, want.dk), 0u);
  EXPECT_EQ(count_different(atomic.dv, want.dv), 0u);
  for (std::size_t i = 0; i < got.dq.size(); ++i) {
    const float value = to_float(got.dq[i]);
    EXPECT_NEAR(to_float(atomic.dq[i]), value, 0.01f * std::max(1.0f, std::fabs(value))) << i;
    if (testing::Test::HasFailure()) break;
  }
  return 2 * got.o.size() + 4 * got.dk.size();
}

class VoltaSparseGpu : public testing::TestWithParam<std::tuple<const char*, int, float>> {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
  }
  const char* kernel() const { return std::get<0>(GetParam()); }
  Problem problem(int seqlen_q, int seqlen_k) const {
    return {.batch = 1,
            .heads = 4,
            .seqlen_q = seqlen_q,
            .seqlen_k = seqlen_k,
            .head_dim = std::get<1>(GetParam()),
            .dropout_p = std::get<2>(GetParam()),
            .seed = 3,
            .heads_k = 2};
  }
};

TEST_P(VoltaSparseGpu, HasTheEmulatedMachinesBits) {
  std::size_t compared = 0;
  for (const std::string_view spec :
       {"window:128/full", "sink:4+window:128", "blocked:128", "strided:6", "longformer:64:16",
        "fixed:64:16", "causal-documents:100", "dilated:16:4", "nd:25x20:5x5", "nd:5x10x10:3x4x6",
        "causal-strided:3", "window:40+causal-strided:8", "band:3:5+strided:4"}) {
    SCOPED_TRACE(spec);
    compared += expect_emulated_bits(kernel(), with_pattern(problem(500, 500), spec));
  }
  std::cout << compared << " elements compared\n";
}

/// Launches are of a residue's batch entries, or with dropout of an entry's residues.
TEST_P(VoltaSparseGpu, HasThemForABatchInPasses) {
  Problem of_batch = problem(450, 450);
  of_batch.batch = 3;
  for (const std::string_view spec : {"causal-strided:2", "window:20+causal-strided:4"}) {
    SCOPED_TRACE(spec);
    expect_emulated_bits(kernel(), with_pattern(of_batch, spec));
  }
}

/// Rows that see all, and keys that all see, are several blocks' work.
TEST_P(VoltaSparseGpu, HasThemForSplitBlocks) {
  const Problem split = with_pattern(problem(2430, 2430), "longformer:16:4/window:40+sink:3");
  const AttentionKernel& of_name = *find_attention_kernel(kernel());
  EXPECT_GT(of_name.sparse.lists(split, Pass::kForward, false)[0].part_rows(), 0);
  for (const bool is_deterministic : {false, true}) {
    if (of_name.backward.emulate == nullptr) break;
    const PatternLists lists = of_name.sparse.lists(split, Pass::kBackward, is_deterministic);
    for (int i = 0; i < lists.size(); ++i) EXPECT_GT(lists[i].part_rows(), 0);
  }
  expect_emulated_bits(kernel(), split);
}

TEST_P(VoltaSparseGpu, HasThemForPatternsDrawnAtRandom) {
  Random random(5);
  for (int i = 0; i < 40; ++i) {
    const RandomPattern drawn = random_pattern(random, 600);
    SCOPED_TRACE(drawn.name);
    expect_emulated_bits(kernel(), with_pattern(problem(1, 1), drawn));
  }
}

INSTANTIATE_TEST_SUITE_P(Instances, VoltaSparseGpu,
                         testing::Combine(testing::Values("volta-fp16acc", "volta-fp32acc"),
                                          testing::Values(64, 80, 128, 200),
                                          testing::Values(0.0f, 0.1f)));
INSTANTIATE_TEST_SUITE_P(OfOnePass, VoltaSparseGpu,
                         testing::Combine(testing::Values("volta-mixedacc", "volta-fp16acc-o16"),
                                          testing::Values(64, 128, 256),
                                          testing::Values(0.0f, 0.1f)));

}  // namespace
}  // namespace sparkbench
