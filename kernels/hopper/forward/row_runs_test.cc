// Row runs (consecutive query tiles of one CTA): which blocks have which, when they are chosen, and
// the kernels with them on the emulated H100, against the definition.
#include "kernels/hopper/row_runs.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "kernels/hopper/forward/test_forward.h"
#include "kernels/hopper/row_form.h"
#include "kernels/hopper/test_inputs.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/nightly.h"

namespace sparkbench::hopper {
namespace {

/// A block of a launch, as its Machine gives it.
struct OfBlock {
  int of_launch;
  int block(int /*axis*/) const { return of_launch; }
};

TEST(HopperRowRuns, HaveEachBlockOnceAndAHeadsInOrder) {
  constexpr int kBlocks = 7, kHeads = 3, kBatch = 2;
  for (const bool is_last_first : {false, true}) {
    for (const int runs : {1, 2, 3, 7}) {
      for (const int blocks_of_launch : {1, 4, 42}) {
        const ItemGrid grid{{runs, kHeads, kBatch}, blocks_of_launch, ItemOrder::kHeadsFirst};
        std::map<std::array<int, 3>, int> done;
        for (int block = 0; block < grid.blocks; ++block) {
          bool is_followed = false;
          std::array<int, 3> before{};
          for (RunMachine<OfBlock> item({block}, grid, kBlocks, is_last_first); !item.is_done();
               item.advance()) {
            const std::array<int, 3> at{item.block(0), item.block(1), item.block(2)};
            if (is_followed) {
              EXPECT_EQ(at[0], before[0] + (is_last_first ? -1 : 1));
              EXPECT_EQ(at[1], before[1]);
              EXPECT_EQ(at[2], before[2]);
            }
            is_followed = item.is_followed();
            before = at;
            ++done[at];
          }
          EXPECT_FALSE(is_followed);
        }
        EXPECT_EQ(done.size(), 42u);
        for (const auto& [at, times] : done) EXPECT_EQ(times, 1);
      }
    }
  }
}

Problem problem_of(int head_dim, int seqlen, const MaskSpec& mask) {
  return {.seqlen_q = seqlen, .seqlen_k = seqlen, .head_dim = head_dim, .mask = mask};
}

TEST(HopperRowForm, IsRunsWhereManyRowsSeeFewKeys) {
  const auto form = [](int head_dim, int seqlen, const MaskSpec& mask) {
    return row_form(problem_of(head_dim, seqlen, mask));
  };
  constexpr int kLong = 4096;
  for (const int head_dim : {32, 64, 80, 96, 128}) {
    EXPECT_EQ(form(head_dim, kLong, MaskSpec::window(128)), RowForm::kRuns) << head_dim;
    EXPECT_EQ(form(head_dim, kLong, MaskSpec::band(64, 64)), RowForm::kRuns) << head_dim;
    EXPECT_EQ(form(head_dim, kLong, MaskSpec::window(1024)), RowForm::kBlocks) << head_dim;
    EXPECT_EQ(form(head_dim, kLong, MaskSpec::prefix(64)), RowForm::kBlocks) << head_dim;
    EXPECT_EQ(form(head_dim, kLong, MaskSpec::full()), RowForm::kBlocks) << head_dim;
    EXPECT_EQ(form(head_dim, kLong, MaskSpec::causal()), RowForm::kBlocks) << head_dim;
    EXPECT_EQ(form(head_dim, kLong - 1, MaskSpec::window(128)), RowForm::kBlocks) << head_dim;
  }
  EXPECT_EQ(form(128, kLong, MaskSpec::window(384)), RowForm::kRuns);
  EXPECT_EQ(form(128, kLong, MaskSpec::window(385)), RowForm::kBlocks);
  EXPECT_EQ(form(64, kLong, MaskSpec::window(257)), RowForm::kRuns);
  EXPECT_EQ(form(64, kLong, MaskSpec::window(258)), RowForm::kBlocks);
  EXPECT_EQ(form(256, kLong, MaskSpec::window(128)), RowForm::kBlocks);  // no kernel has them
  Problem dropout = problem_of(64, kLong, MaskSpec::window(128));
  dropout.dropout_p = 0.1f;
  EXPECT_EQ(row_form(dropout), RowForm::kBlocks);
  Problem few_keys = problem_of(128, kLong, MaskSpec::window(128));  // which the last rows see
  few_keys.seqlen_k = 512;
  EXPECT_EQ(row_form(few_keys), RowForm::kBlocks);
}

/// An entry of a batch has the same bits as by itself.
TEST(HopperRowForm, DoesNotDependOnBatchOrHeads) {
  for (const int seqlen : {2048, 4096}) {
    Problem problem = problem_of(128, seqlen, MaskSpec::window(128));
    const RowForm alone = row_form(problem);
    for (problem.batch = 1; problem.batch < 9; ++problem.batch) {
      for (problem.heads = 1; problem.heads < 40; problem.heads += 13) {
        EXPECT_EQ(row_form(problem), alone);
      }
    }
  }
}

/// Checks that the kernel's own launches choose this form, by a tile whose bits differ between
/// forms.
TEST(HopperRowForm, IsTheKernels) {
  const SampleTile tile{9, 0, 0};
  const Problem problem = problem_of(64, 4096, MaskSpec::window(128));
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  const AttentionKernel& kernel = *find_attention_kernel("hopper-fp32acc");
  Outputs own{std::vector<Half>(problem.q_elements(), kPoison),
              std::vector<float>(problem.lse_elements(), std::numeric_limits<float>::quiet_NaN()),
              {}};
  emulate_forward(kernel, problem,
                  contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                                     own.o.data(), own.lse.data()),
                  options_of(kernel), {&tile, 1});
  const auto has_bits_of = [&](RowForm form) {
    const Outputs of_form = run_emulated(problem, form, inputs, 0, {&tile, 1});
    return std::memcmp(own.o.data(), of_form.o.data(), own.o.size() * sizeof(Half)) == 0;
  };
  EXPECT_TRUE(has_bits_of(RowForm::kRuns));
  EXPECT_FALSE(has_bits_of(RowForm::kBlocks));
}

/// Seqlens of a block's rows minus one, exactly, and plus one; and of several blocks, which are
/// several runs.
class HopperRowRunsOf : public testing::TestWithParam<std::tuple<int, int>> {};

/// With dropout or without, swapped in the next `cell`; nightly both. Narrow runs have no dropout.
void expect_correct_runs(int head_dim, int seqlen, const MaskSpec& mask, std::size_t cell) {
  constexpr float kDropouts[] = {0.0f, 0.17f};
  for (std::size_t d = 0; d < std::size(kDropouts); ++d) {
    const float dropout_p = kDropouts[d];
    if (head_dim <= 64 ? dropout_p > 0 : !is_tried(cell + d, 2)) continue;
    SCOPED_TRACE(testing::Message() << name_of(mask) << ", dropout " << dropout_p);
    expect_correct({.heads = 2,
                    .seqlen_q = seqlen,
                    .seqlen_k = seqlen + 60,
                    .head_dim = head_dim,
                    .mask = mask,
                    .dropout_p = dropout_p,
                    .seed = 11,
                    .heads_k = 1},
                   RowForm::kRuns);
  }
}

TEST_P(HopperRowRunsOf, MatchTheDefinition) {
  const auto [head_dim, seqlen] = GetParam();
  auto cell = static_cast<std::size_t>(seqlen);
  for (const MaskSpec& mask :
       {MaskSpec::window(1), MaskSpec::window(128), MaskSpec::window(257), MaskSpec::window(384),
        MaskSpec::band(64, 64), MaskSpec::band(200, -70), MaskSpec::band(-70, 200)}) {
    expect_correct_runs(head_dim, seqlen, mask, cell++);
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, HopperRowRunsOf,
                         testing::Combine(testing::Values(128),
                                          testing::ValuesIn(with_nightly<int>({1, 193, 400},
                                                                              {191, 600}))));
INSTANTIATE_TEST_SUITE_P(NarrowLengths, HopperRowRunsOf,
                         testing::Combine(testing::Values(64),
                                          testing::ValuesIn(with_nightly<int>({257, 600},
                                                                              {255, 800}))));
TEST(HopperRowRunsOfHeadDims, MatchTheDefinition) {
  std::size_t cell = 0;
  for (const int head_dim : with_nightly<int>({32, 80}, {8, 40, 72, 96, 120})) {
    for (const MaskSpec& mask : {MaskSpec::window(200), MaskSpec::band(70, 90)}) {
      expect_correct_runs(head_dim, 450, mask, cell++);
    }
  }
}

/// Any number of rows and keys; some rows see no key.
TEST(HopperRowRunsOfRandomBands, MatchTheDefinition) {
  std::mt19937 random(3);
  const auto between = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  for (int i = 0; i < (is_nightly() ? 12 : 4); ++i) {
    const int head_dims[] = {32, 64, 80, 128}, head_dim = head_dims[i % 4];
    const int begin = between(-300, 200), end = begin + between(1, 400);
    const Problem problem{.seqlen_q = between(1, 900),
                          .seqlen_k = between(1, 900),
                          .head_dim = head_dim,
                          .mask = MaskSpec::band(-begin, end)};
    SCOPED_TRACE(testing::Message() << i << ": " << head_dim << ", " << problem.seqlen_q << " by "
                                    << problem.seqlen_k << ", " << name_of(problem.mask));
    expect_correct(problem, RowForm::kRuns);
  }
}

/// Three blocks of rows: 192 each, or 256.
TEST(HopperRowRunsTraffic, IsEachKeyOnce) {
  for (const int head_dim : {64, 128}) {
    const int seqlen = 3 * (head_dim == 64 ? 256 : 192);
    Problem problem{.seqlen_q = seqlen, .seqlen_k = seqlen, .head_dim = head_dim};
    const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
    for (const MaskSpec& mask : {MaskSpec::window(128), MaskSpec::band(64, 64)}) {
      problem.mask = mask;
      const Outputs outputs = run_emulated(problem, RowForm::kRuns, inputs);
      EXPECT_EQ(outputs.report.counters.global_sectors_read,
                3 * problem.q_elements() * sizeof(Half) / 32)
          << head_dim << ", " << name_of(mask);
    }
  }
}

TEST(HopperRowRuns, FollowRisingScores) {
  for (const int head_dim : {64, 128}) {
    const Problem problem{
        .seqlen_q = 600, .seqlen_k = 600, .head_dim = head_dim, .mask = MaskSpec::window(200)};
    expect_correct(problem, RowForm::kRuns, rising_inputs(problem, 7));
  }
}

/// The results do not depend on schedules or runs, for keys that the next rows also see, for rows
/// that see all keys (which do not fit the ring), and for rows that see none.
TEST(HopperRowRunsBits, DependNeitherOnScheduleNorOnRuns) {
  for (const int head_dim : {64, 128}) {
    for (const MaskSpec& mask :
         {MaskSpec::window(1), MaskSpec::window(150), MaskSpec::band(130, 100), MaskSpec::causal(),
          MaskSpec::prefix(100)}) {
      const Problem problem{
          .batch = 2, .seqlen_q = 900, .seqlen_k = 700, .head_dim = head_dim, .mask = mask};
      const OwnedInputs inputs = rising_inputs(problem, 3);
      const Outputs first = run_emulated(problem, RowForm::kRuns, inputs);
      expect_clean(first.report);
      for (const std::uint64_t seed : with_nightly<std::uint64_t>({1}, {2, 3})) {
        const Outputs other = run_emulated(problem, RowForm::kRuns, inputs, seed);
        expect_clean(other.report);
        EXPECT_TRUE(same_bits(first, other)) << head_dim << ", seed " << seed;
      }
      // A sample's runs have one block each.
      const std::vector<SampleTile> all = [&] {
        std::vector<SampleTile> tiles;
        for (int tile = 0; tile < sample_tiles_of(problem.seqlen_q); ++tile) {
          for (const int batch : {0, 1}) tiles.push_back({tile, 0, batch});
        }
        return tiles;
      }();
      EXPECT_TRUE(same_bits(first, run_emulated(problem, RowForm::kRuns, inputs, 0, all)))
          << head_dim << ", " << name_of(mask);
    }
  }
}

}  // namespace
}  // namespace sparkbench::hopper
