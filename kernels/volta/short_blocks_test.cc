// Kernels of short blocks on the emulated V100: their bits are those of long blocks, which the
// instances for patterns have, and warps leave out halves of tiles, or rows of theirs.
#include "kernels/volta/short_blocks.h"

#include <gtest/gtest.h>

#include <iterator>
#include <tuple>
#include <vector>

#include "kernels/base/ceil_divide.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/nightly.h"
#include "kernels/testing/test_sparse_checks.h"

namespace sparkbench {
namespace {

struct Shape {
  int seqlen_q, seqlen_k, heads, heads_k;
};

/// Ends within tiles and between them, rows that see nothing, and groups of query heads.
constexpr Shape kShapes[] = {{192, 192, 2, 2}, {290, 177, 2, 1}, {131, 333, 3, 1}, {65, 257, 1, 1}};
/// On both sides of a half, of a tile and of a block; those below seqlen_k have short blocks.
constexpr MaskSpec kMasks[] = {MaskSpec::window(1),   MaskSpec::window(32),  MaskSpec::window(33),
                               MaskSpec::window(64),  MaskSpec::window(97),  MaskSpec::window(128),
                               MaskSpec::band(20, 5), MaskSpec::band(0, 64), MaskSpec::band(64, 64),
                               MaskSpec::band(3, 40)};

Problem problem_of(const Shape& shape, const MaskSpec& mask, int head_dim, float dropout_p) {
  return {.heads = shape.heads,
          .seqlen_q = shape.seqlen_q,
          .seqlen_k = shape.seqlen_k,
          .head_dim = head_dim,
          .mask = mask,
          .dropout_p = dropout_p,
          .seed = 11,
          .heads_k = shape.heads_k};
}

/// Only O and LSE, with the launch's report.
struct ForwardRun {
  Passes out;
  EmulationReport report;
};
ForwardRun run_forward(const PatternRun& run) {
  const Problem& problem = run.problem();
  ForwardRun made;
  made.out.o.resize(problem.q_elements());
  made.out.lse.resize(problem.lse_elements());
  const EmulationOptions options = options_of(run.kernel());
  made.report = emulate_forward(run.kernel(), problem, run.forward(made.out), options, {});
  expect_clean(made.report);
  return made;
}

using Instance = std::tuple<const char*, int, float>;

/// Calls check(shape, mask): each mask with one of the shapes, with the next one if there is
/// dropout; nightly with all.
template <class Check>
void for_shapes_and_masks(const Instance& instance, const std::vector<MaskSpec>& masks,
                          Check check) {
  const std::size_t dropout = std::get<float>(instance) > 0 ? 1 : 0;
  for (std::size_t s = 0; s < std::size(kShapes); ++s) {
    for (std::size_t m = 0; m < masks.size(); ++m) {
      if (!is_tried(s + m + dropout, std::size(kShapes))) continue;
      SCOPED_TRACE(testing::Message() << name_of(masks[m]) << ", " << kShapes[s].seqlen_q << " x "
                                      << kShapes[s].seqlen_k);
      check(kShapes[s], masks[m]);
    }
  }
}

class VoltaShortBlocks : public testing::TestWithParam<Instance> {};

TEST_P(VoltaShortBlocks, HaveTheBitsOfLongOnes) {
  const auto [kernel, head_dim, dropout_p] = GetParam();
  for_shapes_and_masks(GetParam(), {std::begin(kMasks), std::end(kMasks)},
                       [=, kernel = kernel, head_dim = head_dim, dropout_p = dropout_p](
                           const Shape& shape, const MaskSpec& mask) {
                         const Problem problem = problem_of(shape, mask, head_dim, dropout_p);
                         ASSERT_TRUE(volta::has_short_window(512, problem.key_mask()));
                         const PatternRun of_short(kernel, problem);
                         const Passes got = run(of_short, true);
                         const Passes want =
                             run(PatternRun(kernel, with_pattern(problem, name_of(mask))), true);
                         EXPECT_TRUE(same_bits(want.o, got.o));
                         EXPECT_TRUE(same_bits(want.lse, got.lse));
                         EXPECT_TRUE(same_bits(want.dq, got.dq));
                         EXPECT_TRUE(same_bits(want.dk, got.dk));
                         EXPECT_TRUE(same_bits(want.dv, got.dv));
                         const Passes summed = run(of_short, false, 5);
                         EXPECT_TRUE(same_bits(want.dk, summed.dk));
                         EXPECT_TRUE(same_bits(want.dv, summed.dv));
                       });
}

INSTANTIATE_TEST_SUITE_P(, VoltaShortBlocks,
                         testing::Combine(testing::Values("volta-fp32acc", "volta-fp16acc"),
                                          testing::ValuesIn(with_nightly<int>({64}, {40})),
                                          testing::Values(0.0f, 0.2f)));

/// Of 128 columns, where a warp has two groups of rows 64 apart, patterns' have them side by side.
/// Masks that hide much of a few tiles, and a causal one.
class VoltaShortBlocksOf128 : public testing::TestWithParam<Instance> {};

TEST_P(VoltaShortBlocksOf128, HaveTheBitsOfPatterns) {
  const auto [kernel, head_dim, dropout_p] = GetParam();
  std::vector<MaskSpec> masks(std::begin(kMasks), std::end(kMasks));
  masks.push_back(MaskSpec::causal());
  masks.push_back(MaskSpec::window(200));
  for_shapes_and_masks(
      GetParam(), masks,
      [=, kernel = kernel, head_dim = head_dim, dropout_p = dropout_p](const Shape& shape,
                                                                       const MaskSpec& mask) {
        const Problem problem = problem_of(shape, mask, head_dim, dropout_p);
        ASSERT_TRUE(volta::wants_blocks(2048, 128, problem));
        const Passes got = run_forward(PatternRun(kernel, problem)).out;
        const Passes want =
            run_forward(PatternRun(kernel, with_pattern(problem, name_of(mask)))).out;
        EXPECT_TRUE(same_bits(want.o, got.o));
        EXPECT_TRUE(same_bits(want.lse, got.lse));
      });
}

INSTANTIATE_TEST_SUITE_P(, VoltaShortBlocksOf128,
                         testing::Values(Instance("volta-fp32acc", 128, 0.0f),
                                         Instance("volta-fp32acc", 128, 0.2f),
                                         Instance("volta-fp16acc", 120, 0.2f),
                                         Instance("volta-fp16acc", 112, 0.0f)));

/// Pairs that so many rows compute together in parts of so many keys.
std::uint64_t pairs_in_parts(const KeyMask& mask, int rows, int keys) {
  std::uint64_t pairs = 0;
  for (int row = 0; row < mask.seqlen_q; row += rows) {
    const Range seen = mask.keys_of_any({row, row + rows});
    const int parts = ceil_divide(seen.end, keys) - seen.begin / keys;
    pairs += static_cast<std::uint64_t>(rows * parts * keys);
  }
  return pairs;
}

std::uint64_t pairs_executed(const char* kernel, const Problem& problem) {
  const std::uint64_t mma = run_forward(PatternRun(kernel, problem)).report.counters.mma_m8n8k4;
  return mma * 2048 / static_cast<unsigned>(4 * problem.head_dim);  // two products, 2 FLOPs each
}

TEST(VoltaShortBlocksCounts, AreOfTheHalvesThatWarpsSee) {
  for (const MaskSpec& mask :
       {MaskSpec::window(128), MaskSpec::window(70), MaskSpec::band(64, 64)}) {
    const Problem problem{.seqlen_q = 1024, .seqlen_k = 1024, .head_dim = 64, .mask = mask};
    const KeyMask keys = problem.key_mask();
    for (const char* const kernel : {"volta-fp32acc", "volta-fp16acc"}) {
      EXPECT_EQ(pairs_executed(kernel, problem), pairs_in_parts(keys, 32, 32))
          << kernel << ", " << name_of(mask);
    }
  }
}

TEST(VoltaShortBlocksCounts, AreOfTheGroupsOfRowsThatSeeATileOf128Columns) {
  for (const MaskSpec& mask : {MaskSpec::window(128), MaskSpec::window(70), MaskSpec::window(17),
                               MaskSpec::band(64, 64), MaskSpec::causal()}) {
    const Problem problem{.seqlen_q = 1024, .seqlen_k = 1024, .head_dim = 128, .mask = mask};
    for (const char* const kernel : {"volta-fp32acc", "volta-fp16acc"}) {
      EXPECT_EQ(pairs_executed(kernel, problem), pairs_in_parts(problem.key_mask(), 16, 64))
          << kernel << ", " << name_of(mask);
    }
  }
}

/// But for the first rows, which see fewer keys, 160 keys of 128 and not 192.
TEST(VoltaShortBlocksCounts, OfAWindowAreAQuarterMoreThanAreSeen) {
  const auto problem = [](int seqlen) {
    return Problem{
        .seqlen_q = seqlen, .seqlen_k = seqlen, .head_dim = 64, .mask = MaskSpec::window(128)};
  };
  const auto more = [&](const char* kernel) {
    return static_cast<double>(pairs_executed(kernel, problem(768)) -
                               pairs_executed(kernel, problem(512))) /
           (256 * 128);
  };
  EXPECT_EQ(more("volta-fp32acc"), 1.25);
  EXPECT_EQ(more("volta-fp16acc"), 1.25);
}

}  // namespace
}  // namespace sparkbench
