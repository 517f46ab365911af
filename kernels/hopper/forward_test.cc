// The Hopper forward kernels on the emulated H100, against the definition.
#include "kernels/hopper/forward/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/hopper/forward/test_forward.h"
#include "kernels/hopper/test_inputs.h"
#include "kernels/testing/nightly.h"

namespace sparkbench::hopper {
namespace {

class HopperForward : public testing::TestWithParam<std::tuple<int, Lengths>> {};

TEST_P(HopperForward, MatchesTheDefinitionForEveryMaskAndDropout) {
  const auto [head_dim, lengths] = GetParam();
  for_every_mask_and_some_dropout(
      head_dim, lengths, [](const Problem& problem) { expect_correct(problem, RowForm::kBlocks); });
}

// Rows of a tile, of a warpgroup and of a block: one less, exactly, and one more.
INSTANTIATE_TEST_SUITE_P(Lengths, HopperForward,
                         testing::Combine(testing::Values(64, 128),
                                          testing::ValuesIn(with_nightly<Lengths>(
                                              {{1, 1}, {65, 129}, {193, 65}, {2, 449}, {263, 263}},
                                              {{63, 127}, {64, 128}, {191, 63}}))));
INSTANTIATE_TEST_SUITE_P(HeadDims, HopperForward,
                         testing::Combine(testing::ValuesIn(with_nightly<int>(
                                              {80, 256}, {8, 32, 40, 72, 88, 96, 120, 136})),
                                          testing::Values(Lengths{129, 70})));

/// Longer than the ring, with warpgroups that see different tiles of it; by some seeds products are
/// computed when they are waited for, by others at once.
TEST(HopperForwardBits, DoNotDependOnTheThreadSchedule) {
  for (const int head_dim : {64, 128, 256}) {
    for (const MaskSpec& mask : {MaskSpec::causal(), MaskSpec::window(150)}) {
      const Problem problem{.heads = 2,
                            .seqlen_q = 390,
                            .seqlen_k = 600,
                            .head_dim = head_dim,
                            .mask = mask,
                            .dropout_p = 0.1f,
                            .seed = 5,
                            .heads_k = 1};
      const OwnedInputs inputs = rising_inputs(problem, 3);
      const Outputs first = run_emulated(problem, RowForm::kBlocks, inputs);
      for (const std::uint64_t seed : with_nightly<std::uint64_t>({1, 2}, {3, 4})) {
        const Outputs other = run_emulated(problem, RowForm::kBlocks, inputs, seed);
        expect_clean(other.report);
        EXPECT_TRUE(same_bits(first, other)) << head_dim << ", seed " << seed;
      }
    }
  }
}

TEST(HopperForwardSample, IsEveryBlockOfATile) {
  const Problem problem{
      .heads = 2, .seqlen_q = 450, .seqlen_k = 300, .head_dim = 64, .mask = MaskSpec::causal()};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  const Outputs whole = run_emulated(problem, RowForm::kBlocks, inputs);
  for (const int tile : {0, 1, 3}) {
    const SampleTile sample{tile, 1, 0};
    const Outputs some = run_emulated(problem, RowForm::kBlocks, inputs, 0, {&sample, 1});
    for (const QueryRow& row : all_rows(problem)) {
      const std::size_t at = row_offset(row.batch, row.row, row.head, problem.seqlen_q,
                                        problem.heads, problem.head_dim);
      if (row.head == 1 && row.row / kSampleRows == tile) {
        EXPECT_EQ(some.o[at].bits, whole.o[at].bits) << row.row;
      } else if (row.head == 0) {
        EXPECT_EQ(some.o[at].bits, kPoison.bits) << row.row;
      }
    }
  }
}

TEST(HopperForwardBits, OfAWindowOfAllKeysAreThoseOfACausalMask) {
  for (const int head_dim : {64, 128}) {
    for (const int seqlen : {150, 320}) {
      Problem problem{.heads = 2, .seqlen_q = seqlen, .seqlen_k = seqlen, .head_dim = head_dim};
      const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
      problem.mask = MaskSpec::causal();
      const Outputs causal = run_emulated(problem, RowForm::kBlocks, inputs);
      for (const int keys : {seqlen, seqlen + 1}) {
        problem.mask = MaskSpec::window(keys);
        EXPECT_TRUE(same_bits(causal, run_emulated(problem, RowForm::kBlocks, inputs)))
            << head_dim << ", " << keys;
      }
    }
  }
}

/// Whether some row of 64 from `row` on sees some key of 64 from `key` on.
bool sees_any(const KeyMask& mask, int row, int key) {
  for (int i = row; i < std::min(row + 64, mask.seqlen_q); ++i) {
    const Range keys = mask.keys(i);
    if (keys.begin < key + 64 && keys.end > key) return true;
  }
  return false;
}

/// The products of a warpgroup, 16 columns or 16 keys each: of the halves of tiles that it sees, 64
/// keys, and of no others. Tiles begin at the 64 keys of which the block sees the first.
std::uint64_t products_of_halves(const Problem& problem, int block_rows) {
  constexpr int kTileKeys = 128;
  const KeyMask mask = problem.key_mask();
  std::uint64_t products = 0;
  for (int block = 0; block < problem.seqlen_q; block += block_rows) {
    const Range keys = mask.keys_of_any({block, block + block_rows});
    for (int row = block; row < block + block_rows; row += 64) {
      for (int tile = keys.begin / 64 * 64; tile < keys.end; tile += kTileKeys) {
        int halves = 0;
        for (int key = tile; key < tile + kTileKeys; key += 64) halves += sees_any(mask, row, key);
        if (halves > 0) products += problem.head_dim / 16 + 4 * halves;
      }
    }
  }
  return products;
}

TEST(HopperForward, MultipliesHalvesOfTilesThatAWarpgroupSees) {
  for (const int head_dim : {64, 128}) {
    for (const char* mask : {"window:128", "window:70", "window:200", "causal", "full"}) {
      const Problem problem{
          .seqlen_q = 500, .seqlen_k = 530, .head_dim = head_dim, .mask = parse_mask(mask)};
      const Outputs outputs =
          run_emulated(problem, RowForm::kBlocks, make_inputs(problem, Distribution::kNormal, 3));
      constexpr std::uint64_t kWarps = 4;
      EXPECT_EQ(outputs.report.counters.wgmma,
                kWarps * products_of_halves(problem, head_dim == 64 ? 192 : 128))
          << head_dim << ", " << mask;
    }
  }
}

/// Scores that rise from tile to tile by more than m allows, or by less, that fall, that rise far
/// from key to key, and that lie far below 0.
TEST(HopperForward, FollowsScoresHoweverTheyGoOn) {
  const auto changes = {+[](int key) { return 0.1f * static_cast<float>(key); },
                        +[](int key) { return 0.03f * static_cast<float>(key); },
                        +[](int key) { return -0.1f * static_cast<float>(key); },
                        +[](int key) { return key % 100 == 70 ? 40.0f : 0.0f; },
                        +[](int /*key*/) { return -60.0f; }};
  std::size_t cell = 0;
  for (const char* mask : {"full", "causal", "window:200"}) {
    for (const auto change : changes) {
      if (!is_tried(cell++, 3)) continue;  // 15 cells: each change with one mask; nightly with all
      const Problem problem{.heads = 2,
                            .seqlen_q = 300,
                            .seqlen_k = 420,
                            .head_dim = 64,
                            .mask = parse_mask(mask),
                            .heads_k = 1};
      expect_correct(problem, RowForm::kBlocks, inputs_with(problem, 7, change));
    }
  }
}

TEST(HopperForward, FollowsRisingScoresForEveryHeadDim) {
  for (const int head_dim : {40, 80, 96, 128, 256}) {
    for (const float dropout_p : {0.0f, 0.17f}) {
      const Problem problem{.seqlen_q = 200,
                            .seqlen_k = 300,
                            .head_dim = head_dim,
                            .mask = MaskSpec::causal(),
                            .dropout_p = dropout_p,
                            .seed = 5};
      expect_correct(problem, RowForm::kBlocks, rising_inputs(problem, 7));
    }
  }
}

/// A NaN in a row of Q is that row's alone.
TEST(HopperForward, GivesNanWhereScoresAre) {
  const Problem problem{.heads = 2, .seqlen_q = 150, .seqlen_k = 200, .head_dim = 64};
  OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  const int nan_row = 100;
  inputs.q[row_offset(0, nan_row, 1, problem.seqlen_q, problem.heads, problem.head_dim)] =
      Half{0x7e00};
  const Outputs outputs = run_emulated(problem, RowForm::kBlocks, inputs);
  for (const QueryRow& row : all_rows(problem)) {
    const bool is_expected = row.head == 1 && row.row == nan_row;
    EXPECT_EQ(std::isnan(outputs.lse[row.lse_index(problem)]), is_expected) << row.row;
  }
}

/// A row that sees no key gives zeros, and log-sum-exp -inf.
TEST(HopperForward, GivesZerosWhereNoKeyIsSeen) {
  const Problem problem{
      .seqlen_q = 200, .seqlen_k = 70, .head_dim = 64, .mask = MaskSpec::causal()};
  const Outputs outputs =
      run_emulated(problem, RowForm::kBlocks, make_inputs(problem, Distribution::kNormal, 3));
  for (std::size_t row = 0; row < 130; ++row) {
    EXPECT_EQ(outputs.lse[row], -std::numeric_limits<float>::infinity());
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(outputs.o[64 * row + i].bits, 0);
  }
}

}  // namespace
}  // namespace sparkbench::hopper
