#include "harness/model/predict/listed_blocks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "harness/model/predict/pass_launches.h"
#include "harness/model/predict/problem_time.h"
#include "kernels/base/ceil_divide.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/test_masks.h"
#include "kernels/registry.h"
#include "kernels/varlen/emulated_work_list.h"
#include "sweeps/lengths.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

Problem problem_of(const std::vector<SequenceLength>& lengths, const MaskSpec& mask,
                   int head_dim = 64) {
  return with_lengths({.heads = 4, .head_dim = head_dim, .mask = mask, .heads_k = 2},
                      std::make_shared<const SequenceLengths>(lengths));
}

std::vector<SequenceLength> random_lengths(int count) {
  std::vector<SequenceLength> lengths;
  unsigned seed = 1;
  const auto next = [&seed] {
    seed = seed * 1664525u + 1013904223u;
    return seed >> 29 == 0 ? 0 : static_cast<int>(seed >> 16) % 1500;
  };
  for (int i = 0; i < count; ++i) lengths.push_back({next(), next()});
  return lengths;
}

std::vector<ListedBlock> listed_on_device(const Problem& problem, const WorkListKind& kind) {
  const EmulatedWorkList list(problem.packed(), packed_lengths(problem), kind);
  list.emulate({.profile = &arithmetic_profile("volta")});
  std::vector<ListedBlock> blocks;
  for (int i = 0; i < list.size(); ++i) {
    const WorkPlace& place = list.items()[i].place;
    if (place.first_row != kNoWork) blocks.push_back({place.sequence, place.first_row});
  }
  return blocks;
}

TEST(ListedBlocks, HaveTheDevicesOrder) {
  for (const MaskSpec& mask : kMaskOfEachKind) {
    const Problem problem = problem_of(random_lengths(300), mask);
    for (const WorkListKind& kind : {WorkListKind{false, 64}, {true, 64}}) {
      SCOPED_TRACE(name_of(mask) + (kind.is_of_keys ? ", keys" : ", queries"));
      EXPECT_EQ(listed_blocks(problem, kind), listed_on_device(problem, kind));
    }
  }
}

TEST(ListedBlocks, OfNoSequenceAreNone) {
  EXPECT_TRUE(listed_blocks(problem_of({}, MaskSpec::full()), {false, 64}).empty());
  EXPECT_TRUE(listed_blocks(problem_of({{0, 5}}, MaskSpec::full()), {false, 64}).empty());
  EXPECT_EQ(listed_blocks(problem_of({{3, 0}}, MaskSpec::full()), {false, 64}).size(), 1u);
}

const AttentionKernel& fp32acc() { return *find_attention_kernel("volta-fp32acc"); }

TEST(PackedLaunches, ListTheirBlocksFirst) {
  const Problem problem = problem_of({{300, 300}, {0, 9}, {70, 70}}, MaskSpec::full());
  const auto launches = launches_of_pass(fp32acc(), problem, Pass::kForward, false);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].instance, nullptr);
  EXPECT_GT(launches[0].hbm_bytes, 0);
  EXPECT_EQ(launches[1].instance->id, "volta-fp32acc/fwd/d64/packed");
  EXPECT_TRUE(launches[1].grid.is_head_fastest);
  EXPECT_EQ(launches[1].grid.heads, 4u);
  // Longest first; rows past a sequence's end cut no tile, keys past it do.
  const KernelInstance& instance = *launches[1].instance;
  const auto& blocks = launches[1].grid.of_head;
  ASSERT_EQ(blocks.size(), static_cast<std::size_t>(ceil_divide(300, instance.block_rows) +
                                                    ceil_divide(70, instance.block_rows)));
  EXPECT_EQ(blocks.front().full_tiles, 300 / instance.step_columns);
  EXPECT_EQ(blocks.back().full_tiles, 70 / instance.step_columns);
  EXPECT_EQ(blocks.back().cut_tiles, 1);
  EXPECT_EQ(launches_of_pass(fp32acc(), problem, Pass::kBackward, true).size(), 4u);
  // Statistics, dQ's sums set to zero, the products, and dQ rounded.
  const Problem longer = problem_of({{900, 900}, {0, 9}, {1100, 1100}}, MaskSpec::full());
  EXPECT_EQ(launches_of_pass(fp32acc(), longer, Pass::kBackward, false).size(), 5u);
}

TEST(PackedLaunches, OfNoBlockAreNone) {
  const Problem problem = problem_of({{0, 0}, {0, 9}}, MaskSpec::full());
  EXPECT_TRUE(launches_of_pass(fp32acc(), problem, Pass::kForward, false).empty());
}

const KernelInstance& sparse_instance(std::string_view id) {
  const auto instances = kernel_instances();
  return *std::find_if(instances.begin(), instances.end(),
                       [id](const KernelInstance& each) { return each.id == id; });
}

TEST(PatternTiles, HaveAsManyPartsAsASchedulerHasWarps) {
  EXPECT_EQ(most_parts(sparse_instance("volta-fp32acc/fwd/d64/sparse")), 2);  // halves
  EXPECT_EQ(most_parts(sparse_instance("volta-fp32acc/fwd/d128/sparse")), 2);
  EXPECT_EQ(most_parts(sparse_instance("volta-fp16acc/fwd/d64/sparse")), 2);
  EXPECT_EQ(most_parts(sparse_instance("volta-fp32acc/fwd/d256/sparse")), 2);  // of two warps
  EXPECT_EQ(most_parts(sparse_instance("volta-fp32acc/bwd/d128/sparse")), 1);
  EXPECT_EQ(most_parts(sparse_instance("volta-fp32acc/bwd-dq/d128/sparse")), 1);
  EXPECT_EQ(most_parts(sparse_instance("volta-fp32acc/fwd/d128")), 1);
}

/// What the first of the longest blocks walks under a window of 128 keys.
BlockWork work_in_a_window(std::string_view id, std::string_view mask = "window:128") {
  const KernelInstance& instance = sparse_instance(id);
  Problem problem{.seqlen_q = 2048, .seqlen_k = 2048, .head_dim = instance.head_dim};
  problem.sparse = make_sparse_mask(mask, 2048, 2048);
  return tiles_of_pattern(instance, problem).front();
}

TEST(PatternTiles, AreOfAsManyPartsAsTheBusiestSchedulerHas) {
  // The halves that each warp of 32 rows sees, a digit a warp.
  // 2100 2221 1222 0012: in each tile some warp sees both, and the others lack 5, 1, 1 and 5.
  EXPECT_EQ(work_in_a_window("volta-fp32acc/fwd/d64/sparse"), (BlockWork{0, 4, 0, 4, 12}));
  EXPECT_EQ(work_in_a_window("volta-fp32acc/fwd/d128/sparse"), (BlockWork{0, 4, 0, 4, 12}));
  // Pairs of warps share rows, and the first and the third pair schedulers: 1, 2, 2, 1.
  EXPECT_EQ(work_in_a_window("volta-fp32acc/fwd/d256/sparse"), (BlockWork{0, 4, 0, 2}));
  EXPECT_EQ(work_in_a_window("volta-fp32acc/bwd-dq/d64/sparse").more_parts, 0);
  // The key that all see: one half of each warp, at d64 no part more.
  EXPECT_EQ(work_in_a_window("volta-fp32acc/fwd/d64/sparse", "window:128+sink:1"),
            (BlockWork{0, 5, 0, 4, 12}));
}

TEST(PatternTiles, OfHeadsWithPatternsOfTheirOwnTakeTurns) {
  const KernelInstance& instance = sparse_instance("volta-fp32acc/fwd/d64/sparse");
  Problem problem{.heads = 4, .seqlen_q = 1024, .seqlen_k = 1024, .head_dim = 64};
  problem.sparse = make_sparse_mask("window:128/full", 1024, 1024, problem.heads);
  const std::vector<BlockWork> work = tiles_of_pattern(instance, problem);
  ASSERT_EQ(work.size(), 4u * 8);
  EXPECT_EQ(work[0], work[2]);
  EXPECT_EQ(work[1], (BlockWork{16, 0}));
  EXPECT_EQ(work[1], work[3]);
}

/// TFLOP/s of a pass that is likely.
double likely_tflops(const Problem& problem, Pass pass) {
  const PassTime time =
      time_of_launches(launches_of_pass(fp32acc(), problem, pass, false), embedded_cycles());
  EXPECT_EQ(time.why_not, "");
  return static_cast<double>(useful_flops(pass, problem)) / time.ms.likely * 1e-9;
}

/// Sequences of one length, a multiple of `step`, with as many pairs as these have, nearly.
Problem equal_lengths(const Problem& ragged, int step) {
  double pairs = 0;
  for (int i = 0; i < ragged.batch; ++i) {
    pairs += static_cast<double>(ragged.seqlen_q_of(i)) * ragged.seqlen_k_of(i);
  }
  Problem equal = ragged.alone(0);
  equal.batch = ragged.batch;
  const int seqlen = static_cast<int>(std::sqrt(pairs / ragged.batch)) / step * step;
  equal.seqlen_q = equal.seqlen_k = seqlen;
  return equal;
}

/// Least share for the batch of the default seed, for each of several batches, and for their mean.
constexpr double kReached = 0.89, kReachedByEach = 0.88, kReachedInTheMean = 0.90;
constexpr double kSemaphore = 0.11;
constexpr int kDrawnBatches = 12;

TEST(RaggedBatch, ReachesNineTenthsOfEqualLengths) {
  for (const int head_dim : {64, 128}) {
    for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
      for (const bool is_causal : {false, true}) {
        const MaskSpec mask = MaskSpec::causal_if(is_causal);
        const std::string name = fmt::format("d{}_{}_{}", head_dim, name_of(pass), name_of(mask));
        SCOPED_TRACE(name);
        // Long blocks, as packed sequences have: kernels/volta/short_blocks.h.
        const int step = head_dim == 128 && pass == Pass::kForward ? 256 : 128;
        // With equal lengths the blocks take turns to add dQ here; varlen blocks use atomics.
        const bool hands_on_dq = head_dim == 64 && pass == Pass::kBackward && is_causal;
        double sum = 0.0, least = 2.0;
        for (std::uint64_t seed = 0; seed < kDrawnBatches; ++seed) {
          CaseProblem drawn;
          drawn.batch = 16;
          drawn.heads = 2048 / head_dim;
          drawn.head_dim = head_dim;
          drawn.mask = mask;
          drawn.seed = seed;
          drawn.lengths_spec = "uniform:1:2048";
          set_lengths(drawn);
          const double ratio =
              likely_tflops(drawn, pass) / likely_tflops(equal_lengths(drawn, step), pass);
          sum += ratio;
          least = std::min(least, ratio);
          if (seed == CaseProblem{}.seed) {
            EXPECT_GE(ratio, hands_on_dq ? kReached - kSemaphore : kReached);
          }
        }
        EXPECT_GE(least, hands_on_dq ? kReachedByEach - kSemaphore : kReachedByEach);
        EXPECT_GE(sum / kDrawnBatches,
                  hands_on_dq ? kReachedInTheMean - kSemaphore : kReachedInTheMean);
        RecordProperty(name, fmt::format("{:.3f}, at least {:.3f}", sum / kDrawnBatches, least));
      }
    }
  }
}

}  // namespace
}  // namespace sparkbench
