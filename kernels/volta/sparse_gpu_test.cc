// Patterns in the Volta kernels on the GPU at hand: bit for bit against the emulated machine with
// the arithmetic that m8n8k4 has there.
#include <gtest/gtest.h>

#include <cstddef>
#include <iostream>
#include <string_view>
#include <tuple>

#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/nightly.h"
#include "kernels/testing/test_sparse_gpu.h"

namespace sparkbench {
namespace {

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
  EXPECT_GT(sparse_lists(of_name, split, Pass::kForward, false)[0].part_rows(), 0);
  for (const bool is_deterministic : {false, true}) {
    if (!of_name.has_backward()) break;
    const PatternLists lists = sparse_lists(of_name, split, Pass::kBackward, is_deterministic);
    for (int i = 0; i < lists.size(); ++i) EXPECT_GT(lists[i].part_rows(), 0);
  }
  expect_emulated_bits(kernel(), split);
}

TEST_P(VoltaSparseGpu, HasThemForPatternsDrawnAtRandom) {
  Random random(5);
  for (int i = 0; i < (is_nightly() ? 40 : 10); ++i) {
    const RandomPattern drawn = random_pattern(random, 600);
    SCOPED_TRACE(drawn.name);
    expect_emulated_bits(kernel(), with_pattern(problem(1, 1), drawn));
  }
}

INSTANTIATE_TEST_SUITE_P(Instances, VoltaSparseGpu,
                         testing::Combine(testing::Values("volta-fp16acc", "volta-fp32acc"),
                                          testing::ValuesIn(with_nightly<int>({64, 128},
                                                                              {80, 200})),
                                          testing::Values(0.0f, 0.1f)));

}  // namespace
}  // namespace sparkbench
