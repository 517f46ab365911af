// Patterns whose blocks of keys hand on dQ, on the emulated V100: by the definition of a pattern in
// FP64, and by each other's bits.
#include "kernels/volta/sparse_relay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <tuple>
#include <vector>

#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/testing/nightly.h"
#include "kernels/testing/test_sparse_checks.h"

namespace sparkbench::volta {
namespace {

Problem problem_of(std::string_view spec, int seqlen, int head_dim, float dropout_p = 0.0f) {
  return with_pattern({.heads = 2,
                       .seqlen_q = seqlen,
                       .seqlen_k = seqlen,
                       .head_dim = head_dim,
                       .dropout_p = dropout_p,
                       .softmax_scale = 0.02f,
                       .seed = 6,
                       .heads_k = 1},
                      spec);
}

TEST(VoltaSparseRelayPlan, IsOfShortRowsWithoutLongWaits) {
  const auto has = [](std::string_view spec, int head_dim, int seqlen = 4096) {
    return has_sparse_relay(problem_of(spec, seqlen, head_dim), false);
  };
  for (const int head_dim : {40, 64, 104, 128}) {
    EXPECT_TRUE(has("blocked:128", head_dim)) << head_dim;
    EXPECT_TRUE(has("chunk:512", head_dim)) << head_dim;
    EXPECT_TRUE(has("window:256+causal-strided:512", head_dim, 1000)) << head_dim;
    EXPECT_FALSE(has_sparse_relay(problem_of("blocked:128", 4096, head_dim), true)) << head_dim;
    // Eight blocks of 64 keys, or four of 128, may wait for each other; blocks of all rows are
    // split.
    EXPECT_FALSE(has("chunk:1024", head_dim)) << head_dim;
    EXPECT_FALSE(has("longformer:64:16", head_dim)) << head_dim;
    EXPECT_FALSE(has("sink:4+window:128", head_dim, 16384)) << head_dim;
  }
  for (const int head_dim : {32, 72, 96, 200}) EXPECT_FALSE(has("blocked:128", head_dim));
  EXPECT_TRUE(has("blocked:256", 64));
  EXPECT_TRUE(has("blocked:512", 64));
  EXPECT_TRUE(has("blocked:512", 128));
  EXPECT_TRUE(has("causal-chunk:2048", 64));
  EXPECT_FALSE(has("causal-chunk:4096", 64, 16384));
  EXPECT_TRUE(has("nd:64x64:7x7", 64));
  EXPECT_FALSE(has("nd:64x64:7x7", 128));
  EXPECT_FALSE(has("blocked:1024", 128));
  EXPECT_FALSE(has("window:3000+dilated:5000:2", 64, 8192));
}

/// All queries see the last keys, and few of them the first.
Problem seen_by_all(int seqlen_q, int head_dim) {
  return with_pattern({.heads = 2,
                       .seqlen_q = seqlen_q,
                       .seqlen_k = 256,
                       .head_dim = head_dim,
                       .dropout_p = 0.1f,
                       .softmax_scale = 0.02f,
                       .seed = 7,
                       .heads_k = 1},
                      "where:k>=128||q<64");
}

TEST(VoltaSparseRelayPlan, PreparesStatisticsWhereNoBlockHasMany) {
  const auto prepares = [](std::string_view spec, int head_dim) {
    return prepares_sparse_statistics(problem_of(spec, 4096, head_dim));
  };
  EXPECT_TRUE(prepares("blocked:128", 128));
  EXPECT_TRUE(prepares("chunk:512", 104));
  EXPECT_FALSE(prepares("blocked:128", 64));
  EXPECT_TRUE(has_sparse_relay(seen_by_all(600, 128), false));
  EXPECT_FALSE(prepares_sparse_statistics(seen_by_all(600, 128)));
}

/// What is launched over lists in relay has lists in relay, and room for its words.
TEST(VoltaSparseRelayPlan, IsThatOfListsAndWorkspace) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  const Problem problem = problem_of("blocked:64", 1000, 64);
  for (const bool is_deterministic : {false, true}) {
    const PatternLists lists = kernel.sparse.lists(problem, Pass::kBackward, is_deterministic);
    ASSERT_EQ(lists.size(), is_deterministic ? 2 : 1);
    EXPECT_EQ(lists[0].blocks_of_head(), is_deterministic ? 8 : 16);
  }
  const SparseRelayWorkspace workspace(problem);
  EXPECT_EQ(kernel.workspace_bytes(problem, Pass::kBackward, false), workspace.bytes);
  // Of two heads of 1024 rows the statistics, sums of 64 columns, and a word for every 32.
  EXPECT_EQ(workspace.turns, 2u * 1024 * (8 + 64 * 4));
  EXPECT_GE(workspace.bytes, workspace.turns + std::uint64_t{2} * 1024 / 32 * 4);
}

/// Named patterns, ragged ends, query heads of two masks, an order of its own.
TEST(VoltaSparseRelay, IsThePatternByItsDefinition) {
  std::size_t cell = 0;
  for (const auto& [spec, seqlen, head_dim, dropout_p] :
       {std::tuple{"blocked:128", 500, 64, 0.2f},
        {"blocked:64/chunk:200", 411, 40, 0.0f},
        {"chunk:192/window:100+fixed:64:8", 450, 128, 0.2f},
        {"nd:20x24:5x7", 480, 64, 0.2f},
        {"nd:20x24:7x5", 480, 56, 0.0f},
        {"where:(q-k)%3==0&&q-k<90&&k-q<30", 333, 128, 0.0f}}) {
    ++cell;  // each with one accumulator, the next with the other
    for (const std::string_view kernel : {"volta-fp32acc", "volta-fp16acc"}) {
      if (!is_tried(cell++, 2)) continue;
      Problem problem = problem_of(spec, seqlen, head_dim, dropout_p);
      if (kernel == "volta-fp16acc") problem.softmax_scale = 0.005f;
      SCOPED_TRACE(testing::Message() << kernel << ", " << spec << ", head_dim " << head_dim);
      ASSERT_TRUE(has_sparse_relay(problem, false));
      expect_as_by_pictures(kernel, problem, pictures_of(problem), false);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(VoltaSparseRelay, TakesStatisticsThatALaunchPrepared) {
  const Problem problem = seen_by_all(600, 128);
  expect_as_by_pictures("volta-fp32acc", problem, pictures_of(problem), false);
}

/// A warp looks at 64 tiles of 32 queries at once at 64 columns, and at 128 at 128.
TEST(VoltaSparseRelay, GoesOverMoreTilesThanAWarpLooksAt) {
  for (Problem problem : {seen_by_all(2200, 64), seen_by_all(4200, 128)}) {
    if (!is_nightly()) problem.heads = 1;
    SCOPED_TRACE(problem.seqlen_q);
    ASSERT_TRUE(has_sparse_relay(problem, false));
    expect_as_by_pictures("volta-fp32acc", problem, pictures_of(problem), false);
    if (HasFatalFailure()) return;
  }
}

TEST(VoltaSparseRelay, IsThatOfPatternsDrawnAtRandom) {
  Random random(31);
  int relayed = 0;
  for (int i = 0; relayed < (is_nightly() ? 12 : 4); ++i) {
    ASSERT_LT(i, 400) << "few of these patterns have a relay";
    const RandomPattern drawn = random_pattern(random, 300);
    const Problem problem = with_pattern({.heads = 2,
                                          .head_dim = i % 2 == 0 ? 64 : 120,
                                          .dropout_p = i / 2 % 2 == 0 ? 0.0f : 0.2f,
                                          .softmax_scale = 0.02f,
                                          .seed = static_cast<std::uint64_t>(i),
                                          .heads_k = draw(random, 1, 2)},
                                         drawn);
    if (!has_sparse_relay(problem, false)) continue;
    ++relayed;
    SCOPED_TRACE(testing::Message() << i << ": " << drawn.name);
    expect_as_by_pictures("volta-fp32acc", problem, drawn.of_unions, false);
    if (HasFatalFailure()) return;
  }
}

/// Blocks of 64 keys add to a query's sums in one order, whichever come first.
TEST(VoltaSparseRelay, HasTheSameBitsEachTime) {
  const PatternRun made("volta-fp32acc", problem_of("blocked:128", 500, 64, 0.1f));
  const Passes once = run(made, false, 1), again = run(made, false, 2);
  EXPECT_TRUE(same_bits(once.dq, again.dq));
  EXPECT_TRUE(same_bits(once.dk, again.dk));
  EXPECT_TRUE(same_bits(once.dv, again.dv));
}

/// A mask said as a pattern: the same blocks in the same order.
TEST(VoltaSparseRelay, HasTheBitsOfTheMasksRelay) {
  for (const int head_dim : {64, 128}) {
    Problem problem = problem_of("window:100", 500, head_dim, 0.1f);
    const Passes of_pattern = run(PatternRun("volta-fp32acc", problem), false);
    problem.sparse = nullptr;
    problem.mask = MaskSpec::window(100);
    const Passes of_mask = run(PatternRun("volta-fp32acc", problem), false);
    if (head_dim == 64) {
      EXPECT_TRUE(same_bits(of_mask.dq, of_pattern.dq));
    }
    EXPECT_TRUE(same_bits(of_mask.dk, of_pattern.dk)) << head_dim;
    EXPECT_TRUE(same_bits(of_mask.dv, of_pattern.dv)) << head_dim;
  }
}

TEST(VoltaSparseRelay, OfASampleHasTheBitsOfTheWhole) {
  for (const std::string_view spec : {"blocked:128/chunk:100", "nd:20x50:5x7"}) {
    SCOPED_TRACE(spec);
    const Problem problem = problem_of(spec, 1000, 64);
    const PatternRun made("volta-fp32acc", problem);
    const Passes whole = run(made, false);
    EmulationReport of_whole, of_sample;
    Passes part = whole;
    const auto emulate = [&](const BackwardSample& sample) {
      return made.kernel().backward.emulate(problem, made.backward(part), options_of(made.kernel()),
                                            false, sample);
    };
    of_whole = emulate({});
    std::fill(part.dq.begin(), part.dq.end(), Half{});
    std::fill(part.dk.begin(), part.dk.end(), Half{});
    const BackwardSample sample{.query_tiles = {{0, 1, 0}, {3, 0, 0}, {7, 1, 0}},
                                .key_tiles = {{2, 0, 0}, {7, 0, 0}}};
    of_sample = emulate(sample);
    expect_clean(of_sample);
    EXPECT_TRUE(of_sample.is_sample);
    const auto expect_rows = [](const SampleTile& tile, int heads, const std::vector<Half>& want,
                                const std::vector<Half>& got) {
      for (int row = kSampleRows * tile[0]; row < std::min(1000, kSampleRows * (tile[0] + 1));
           ++row) {
        const std::size_t at = row_offset(0, row, tile[1], 1000, heads, 64);
        ASSERT_EQ(std::memcmp(&want[at], &got[at], 64 * sizeof(Half)), 0)
            << "row " << row << " of head " << tile[1];
      }
    };
    for (const SampleTile& tile : sample.query_tiles) expect_rows(tile, 2, whole.dq, part.dq);
    for (const SampleTile& tile : sample.key_tiles) expect_rows(tile, 1, whole.dk, part.dk);
    // What the whole grid does is told by blocks of the sample, once.
    const auto products = [](const EmulationReport& report) {
      return static_cast<double>(report.grid_counters.mma_m8n8k4);
    };
    EXPECT_NEAR(products(of_sample) / products(of_whole), 1.0, 0.25);
  }
}

}  // namespace
}  // namespace sparkbench::volta
