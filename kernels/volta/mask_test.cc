// What masks cost the Volta kernels on the emulated V100: tiles that no row sees are neither loaded
// nor multiplied. That their results are right: forward_test.cc, backward_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/same_bits.h"
#include "reference/exact/exact.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

struct MaskOutputs {
  std::vector<Half> o, dq, dk, dv;
  std::vector<float> lse;
  Counters forward, backward;
};

EmulationOptions options() { return {.profile = &arithmetic_profile("volta")}; }

MaskOutputs run_forward(std::string_view kernel, const Problem& problem,
                        const OwnedInputs& inputs) {
  MaskOutputs outputs{std::vector<Half>(problem.q_elements()),
                      std::vector<Half>(problem.q_elements()),
                      std::vector<Half>(problem.k_elements()),
                      std::vector<Half>(problem.k_elements()),
                      std::vector<float>(problem.lse_elements()),
                      {},
                      {}};
  const EmulationReport report =
      emulate_forward(*find_attention_kernel(kernel), problem,
                      contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                                         outputs.o.data(), outputs.lse.data()),
                      options(), {});
  EXPECT_EQ(report.findings_total, 0u);
  outputs.forward = report.counters;
  return outputs;
}

MaskOutputs run(std::string_view kernel, const Problem& problem, bool is_deterministic = true) {
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  const std::vector<Half> d_o = make_gradient_input(problem, Distribution::kNormal, 3);
  MaskOutputs outputs = run_forward(kernel, problem, inputs);
  const EmulationReport report = emulate_backward(
      *find_attention_kernel(kernel), problem,
      contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                         outputs.o.data(), d_o.data(), outputs.lse.data(), outputs.dq.data(),
                         outputs.dk.data(), outputs.dv.data()),
      options(), is_deterministic, {});
  EXPECT_EQ(report.findings_total, 0u);
  outputs.backward = report.counters;
  return outputs;
}

Counters forward_counters(const Problem& problem) {
  return run_forward("volta-fp32acc", problem, make_inputs(problem, Distribution::kNormal, 3))
      .forward;
}

Problem problem_of(const MaskSpec& mask, int seqlen, int head_dim) {
  return {.seqlen_q = seqlen,
          .seqlen_k = seqlen,
          .head_dim = head_dim,
          .mask = mask,
          .dropout_p = 0.17f,
          .seed = 4};
}

class VoltaMask : public testing::TestWithParam<int> {};

TEST_P(VoltaMask, AsWideAsTheSequenceIsCausal) {
  for (const std::string_view kernel : {"volta-fp16acc", "volta-fp32acc"}) {
    const MaskOutputs causal = run(kernel, problem_of(MaskSpec::causal(), 200, GetParam()));
    for (const MaskSpec& mask :
         {MaskSpec::window(200), MaskSpec::window(1000), MaskSpec::band(199, 0),
          MaskSpec::prefix(0), MaskSpec::prefix(1)}) {
      SCOPED_TRACE(name_of(mask));
      const MaskOutputs same = run(kernel, problem_of(mask, 200, GetParam()));
      EXPECT_TRUE(same_bits(causal.o, same.o));
      EXPECT_TRUE(same_bits(causal.dq, same.dq));
      EXPECT_TRUE(same_bits(causal.dk, same.dk));
      EXPECT_TRUE(same_bits(causal.dv, same.dv));
      EXPECT_EQ(causal.forward.mma(), same.forward.mma());
      EXPECT_EQ(causal.backward.mma(), same.backward.mma());
    }
  }
}

TEST_P(VoltaMask, LoadsOnlyTilesThatARowSees) {
  const Problem full = problem_of(MaskSpec::full(), 2048, GetParam());
  const Problem window = problem_of(MaskSpec::window(128), 2048, GetParam());
  const Counters of_full = forward_counters(full);
  const Counters of_window = forward_counters(window);
  const int rows = GetParam() == 64 ? 128 : 256;  // of a block, where windows are not short
  const std::uint64_t row_sectors = static_cast<std::uint64_t>(GetParam()) / 16;
  const std::uint64_t queries = 2048 * row_sectors;
  EXPECT_EQ(of_full.global_sectors_read, queries + 2u * 2048 * (2048 / rows) * row_sectors);
  // A short block sees its rows' own keys, and 127 before the first.
  const int short_rows = rows / 2;
  std::uint64_t keys = 0;
  for (int first = 0; first < 2048; first += short_rows) {
    keys += first + short_rows - std::max(first - 127, 0) / 64 * 64;
  }
  EXPECT_EQ(of_window.global_sectors_read, queries + 2u * keys * row_sectors);
}

TEST_P(VoltaMask, MultipliesOnlyPartsOfTilesThatAWarpSees) {
  // 32 rows see 159 keys: five halves of tiles at head_dim 64; 16 rows, of which a warp has two
  // groups apart at 128, three whole tiles. Less what lies before the first key.
  const Problem window = problem_of(MaskSpec::window(128), 512, GetParam());
  const int keys = GetParam() == 64 ? 32 : 64, rows = GetParam() == 64 ? 32 : 16;
  int parts = 0;
  for (int row = 0; row < 512; row += rows) {
    const int first = row < 127 ? 0 : row - 127;
    parts += (row + rows - 1) / keys - first / keys + 1;
  }
  const Counters counters = forward_counters(window);
  EXPECT_EQ(counters.mma(),
            static_cast<std::uint64_t>(parts) * 4 * rows * keys * GetParam() / 2048);
}

TEST_P(VoltaMask, OfAPatternMultipliesOnlyHalvesThatAWarpSees) {
  // The same pairs, of whose keys 32 rows see five halves of tiles: 160 keys a row of 128.
  Problem window = problem_of(MaskSpec::full(), 512, GetParam());
  window.sparse = make_sparse_mask("causal-band:127:0", 512, 512);
  int halves = 0;
  for (int row = 0; row < 512; row += 32) halves += row / 32 - std::max(row - 127, 0) / 32 + 1;
  const Counters counters = forward_counters(window);
  EXPECT_EQ(counters.mma(), static_cast<std::uint64_t>(halves) * 4 * 32 * 32 * GetParam() / 2048);
}

TEST_P(VoltaMask, SkipsStepsThatSeeNoKey) {
  // A block of keys is seen by the queries of its own and of 127 more.
  const Problem window = problem_of(MaskSpec::window(128), 2048, GetParam());
  for (const bool is_deterministic : {false, true}) {
    const Counters counters = run("volta-fp32acc", window, is_deterministic).backward;
    // With the dQ semaphore a step of 64 keys skips the half of which its queries see none.
    const int keys = GetParam() == 128 ? 128 : is_deterministic ? 64 : 32;
    std::uint64_t steps = 0;
    for (int first = 0; first < 2048; first += keys) {
      steps += (std::min(first + keys + 127, 2048) + 31) / 32 - first / 32;
    }
    const std::uint64_t product = 2u * 32 * keys * GetParam() / 2048;
    // The dQ kernel walks tiles of 32 keys by 64 rows, three products each.
    const int rows = 64;
    std::uint64_t tiles = 0;
    for (int first = 0; first < 2048; first += rows) {
      tiles += (first + rows) / 32 - std::max(first - 127, 0) / 32;
    }
    const std::uint64_t of_dq = 3 * (2u * rows * 32 * GetParam() / 2048) * tiles;
    EXPECT_EQ(counters.mma(), is_deterministic ? 4 * product * steps + of_dq : 5 * product * steps);
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDims, VoltaMask, testing::Values(64, 128));

}  // namespace
}  // namespace sparkbench
