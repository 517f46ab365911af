#include "harness/predict/pass_launches.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/predict/block_tiles.h"
#include "harness/predict/test_instance.h"
#include "harness/predict/v100_constants.h"
#include "kernels/forward_launch.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/test_masks.h"
#include "kernels/registry.h"
#include "kernels/tile/forward_params.h"
#include "kernels/volta/backward/schedules.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/forward/schedules.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

Problem problem_of(int seqlen_q, int seqlen_k, const MaskSpec& mask, int head_dim = 64,
                   float dropout_p = 0) {
  return {.batch = 2,
          .heads = 3,
          .seqlen_q = seqlen_q,
          .seqlen_k = seqlen_k,
          .head_dim = head_dim,
          .mask = mask,
          .dropout_p = dropout_p};
}

const AttentionKernel& kernel_of(const std::string& name) { return *find_attention_kernel(name); }

std::vector<std::string> ids_of(const std::vector<PassLaunch>& launches) {
  std::vector<std::string> ids;
  for (const PassLaunch& launch : launches) {
    ids.emplace_back(launch.instance == nullptr ? "memset" : launch.instance->id);
  }
  return ids;
}

/// What kernels/volta/backward_gpu.cu launches.
std::vector<std::string> ids_by_dispatch(const Problem& problem, bool is_deterministic) {
  const volta::Wanted wanted{problem, kV100SharedBytes};
  std::vector<std::string> ids;
  const auto add = [&](auto /*row*/, auto id) { ids.emplace_back(id); };
  const bool has_relay = volta::has_relay(problem, is_deterministic);
  if (has_relay && volta::prepares_statistics(problem.head_dim, problem.key_mask())) {
    ids.emplace_back("memset");
  } else {
    volta::visit_statistics(Accumulator::kFp16, wanted, add);
  }
  if (has_relay) {
    ids.emplace_back("memset");
    volta::visit_backward_relay(Accumulator::kFp16, wanted, add);
    return ids;
  }
  if (!is_deterministic) ids.emplace_back("memset");
  volta::visit_backward(Accumulator::kFp16, !is_deterministic, wanted, add);
  if (is_deterministic) {
    volta::visit_backward_dq(Accumulator::kFp16, wanted, add);
  } else {
    volta::visit_round_dq(Accumulator::kFp16, wanted, add);
  }
  return ids;
}

TEST(PassLaunches, OfAPaddedHeadDimAreThoseOfItsTile) {
  const auto launches_of = [](int head_dim) {
    return launches_of_pass(kernel_of("volta-fp32acc"),
                            problem_of(300, 300, MaskSpec::causal(), head_dim), Pass::kBackward,
                            false);
  };
  const std::vector<PassLaunch> narrow = launches_of(88), wide = launches_of(96);
  ASSERT_EQ(narrow.size(), wide.size());
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    EXPECT_EQ(narrow[i].instance, wide[i].instance);
    EXPECT_EQ(narrow[i].grid.of_head.size(), wide[i].grid.of_head.size());
  }
  // The sums of dQ have as many columns; q, k, v, dO, dK and dV have fewer.
  EXPECT_EQ(narrow[1].hbm_bytes, wide[1].hbm_bytes);
  EXPECT_LT(narrow[2].hbm_bytes, wide[2].hbm_bytes);
}

TEST(PassLaunches, AreThoseOfTheBackwardPass) {
  for (const int head_dim : {8, 40, 64, 80, 120, 128, 160, 256}) {
    for (const float dropout_p : {0.0f, 0.1f, 1e-4f}) {  // the last drops nothing in 256ths
      for (const MaskSpec& mask : {MaskSpec::causal(), MaskSpec::window(100)}) {
        const Problem problem = problem_of(300, 300, mask, head_dim, dropout_p);
        for (const bool is_deterministic : {false, true}) {
          EXPECT_EQ(ids_of(launches_of_pass(kernel_of("volta-fp16acc"), problem, Pass::kBackward,
                                            is_deterministic)),
                    ids_by_dispatch(problem, is_deterministic));
        }
      }
    }
  }
}

TEST(PassLaunches, OfForwardKernelsAreOneEach) {
  const Problem long_blocks = problem_of(500, 500, MaskSpec::causal(), 128, 0.1f),
                short_blocks = problem_of(300, 300, MaskSpec::causal(), 128, 0.1f);
  for (const std::string name : {"volta-fp16acc", "volta-fp32acc", "volta-mixedacc"}) {
    const AttentionKernel& kernel = kernel_of(name);
    const std::string id = name + "/fwd/d128/dropout";
    EXPECT_EQ(ids_of(launches_of_pass(kernel, long_blocks, Pass::kForward, false)),
              std::vector<std::string>{id});
    EXPECT_EQ(ids_of(launches_of_pass(kernel, short_blocks, Pass::kForward, false)),
              std::vector<std::string>{name == "volta-fp16acc" ? id : id + "/short"});
  }
}

TEST(PassLaunches, OfWindowsHaveShortBlocksUpToTheirThresholds) {
  const auto ids = [](const std::string& name, int window, int head_dim) {
    const Problem problem = problem_of(4096, 4096, MaskSpec::window(window), head_dim);
    return ids_of(launches_of_pass(kernel_of(name), problem, Pass::kForwardBackward, true));
  };
  using Ids = std::vector<std::string>;
  for (const std::string name : {"volta-fp16acc", "volta-fp32acc"}) {
    const std::string of_rows = name + "/bwd-statistics/d64", bwd = name + "/bwd/d64",
                      dq = name + "/bwd-dq/d64", fwd = name + "/fwd/d64";
    const Ids all_short = {fwd + "/short", of_rows, bwd + "/short/deterministic", dq + "/short"};
    EXPECT_EQ(ids(name, 512, 40), all_short);
    EXPECT_EQ(ids(name, 512, 64), all_short);
    EXPECT_EQ(ids(name, 1024, 64), all_short);
    EXPECT_EQ(ids(name, 2049, 64), (Ids{fwd, of_rows, bwd + "/deterministic", dq}));
  }
  EXPECT_EQ(ids("volta-fp16acc", 2048, 64)[0], "volta-fp16acc/fwd/d64/short");
  EXPECT_EQ(ids("volta-fp32acc", 1025, 64),
            (Ids{"volta-fp32acc/fwd/d64", "volta-fp32acc/bwd-statistics/d64",
                 "volta-fp32acc/bwd/d64/short/deterministic", "volta-fp32acc/bwd-dq/d64/short"}));
}

TEST(PassLaunches, OfWindowsRelayDqUnlessDeterministic) {
  using Ids = std::vector<std::string>;
  const Problem problem = problem_of(4096, 4096, MaskSpec::window(1024), 40);
  EXPECT_EQ(ids_of(launches_of_pass(kernel_of("volta-fp16acc"), problem, Pass::kBackward, false)),
            (Ids{"memset", "memset", "volta-fp16acc/bwd/d64/relay"}));
}

TEST(PassLaunches, OfShortSequencesRelayDqFromTheLastOfTheirBlocksOf64Keys) {
  const auto launches = launches_of_pass(
      kernel_of("volta-fp32acc"), problem_of(300, 300, MaskSpec::causal()), Pass::kBackward, false);
  EXPECT_EQ(ids_of(launches),
            (std::vector<std::string>{"memset", "memset", "volta-fp32acc/bwd/d64/relay"}));
  const std::vector<BlockWork>& blocks = launches.back().grid.of_head;
  ASSERT_EQ(blocks.size(), 5u);
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    EXPECT_GT(blocks[i].full_tiles, blocks[i - 1].full_tiles);
  }
}

TEST(PassLaunches, OfFullMasksHaveStatisticsBeforeARelay) {
  // The last block of keys would have all of the queries' to prepare.
  const auto launches = launches_of_pass(
      kernel_of("volta-fp32acc"), problem_of(300, 300, MaskSpec::full()), Pass::kBackward, false);
  EXPECT_EQ(ids_of(launches), (std::vector<std::string>{"volta-fp32acc/bwd-statistics/d64",
                                                        "memset", "volta-fp32acc/bwd/d64/relay"}));
}

TEST(PassLaunches, OfPatternsWithShortRowsRelayDqUnlessDeterministic) {
  Problem problem = problem_of(4096, 4096, MaskSpec::full(), 64);
  const auto backward = [&](std::string_view spec, bool is_deterministic) {
    problem.sparse = make_sparse_mask(spec, 4096, 4096);
    return ids_of(
        launches_of_pass(kernel_of("volta-fp16acc"), problem, Pass::kBackward, is_deterministic));
  };
  using Ids = std::vector<std::string>;
  const std::string statistics = "volta-fp16acc/bwd-statistics/d64";
  EXPECT_EQ(backward("blocked:128", false),
            (Ids{statistics, "memset", "volta-fp16acc/bwd/d64/relay/sparse"}));
  EXPECT_EQ(backward("blocked:128", true),
            (Ids{statistics, "volta-fp16acc/bwd/d64/sparse/deterministic",
                 "volta-fp16acc/bwd-dq/d64/sparse"}));
}

TEST(PassLaunches, OfATrainingStepAreBothPasses) {
  const Problem problem = problem_of(600, 600, MaskSpec::full());
  EXPECT_EQ(
      ids_of(launches_of_pass(kernel_of("volta-fp32acc"), problem, Pass::kForwardBackward, false)),
      (std::vector<std::string>{"volta-fp32acc/fwd/d64", "volta-fp32acc/bwd-statistics/d64",
                                "memset", "volta-fp32acc/bwd/d64",
                                "volta-fp32acc/bwd-round-dq/d64"}));
}

/// Tile by tile.
BlockWork tiles_by_cover(const KeyMask& mask, const Range& rows, int seqlen_k, int step) {
  BlockWork work;
  for (int key = 0; key < seqlen_k; key += step) {
    const TileCover cover = mask.cover(rows, {key, key + step});
    work.full_tiles += cover == TileCover::kFull ? 1 : 0;
    work.cut_tiles += cover == TileCover::kCut ? 1 : 0;
  }
  return work;
}

TEST(PassLaunches, CountTheTilesThatTheMaskCovers) {
  const KernelInstance& instance = instance_of("volta-fp32acc/fwd/d64");
  for (const MaskSpec& spec : kTestMasks) {
    for (const auto& [seqlen_q, seqlen_k] :
         {std::pair(512, 512), {300, 517}, {517, 300}, {1, 70}}) {
      const Problem problem = problem_of(seqlen_q, seqlen_k, spec);
      const std::vector<BlockWork> blocks = tiles_of_query_blocks(instance, problem);
      ASSERT_EQ(blocks.size(), (seqlen_q + 127) / 128) << name_of(spec);
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const int row = static_cast<int>(i) * instance.block_rows;
        EXPECT_EQ(blocks[i], tiles_by_cover(problem.key_mask(), {row, row + instance.block_rows},
                                            seqlen_k, instance.step_columns))
            << name_of(spec) << " " << seqlen_q << " " << seqlen_k << " block " << i;
      }
    }
  }
}

/// The steps that a block of keys walks, by the kernel's own tests; of a kernel of one team.
BlockWork steps_by_kernel(const KeyMask& mask, const Range& keys, int step) {
  BlockWork work;
  const int end = least_of(keys.end - mask.begin_offset, mask.seqlen_q);
  for (int query = first_tile<32>({mask.rows(keys.begin).begin, end}); query < end; query += step) {
    (mask.all_see({query, query + step}, keys) ? work.full_tiles : work.cut_tiles) += 1;
  }
  return work;
}

TEST(PassLaunches, CountTheStepsThatAKeyBlockWalks) {
  const KernelInstance& instance = instance_of("volta-fp32acc/bwd/d128");
  ASSERT_EQ(instance.teams, 1);
  for (const MaskSpec& spec : kTestMasks) {
    for (const auto& [seqlen_q, seqlen_k] :
         {std::pair(512, 512), {300, 517}, {517, 300}, {1, 70}}) {
      const Problem problem = problem_of(seqlen_q, seqlen_k, spec, 128);
      const std::vector<BlockWork> blocks = tiles_of_key_blocks(instance, problem);
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const int key = static_cast<int>(i) * instance.block_rows;
        EXPECT_EQ(blocks[i], steps_by_kernel(problem.key_mask(), {key, key + instance.block_rows},
                                             instance.step_columns))
            << name_of(spec) << " " << seqlen_q << " " << seqlen_k << " block " << i;
      }
    }
  }
}

TEST(PassLaunches, TeamsTakeTurnsInTheSteps) {
  const KernelInstance& instance = instance_of("volta-fp32acc/bwd/d64");
  ASSERT_EQ(instance.teams, 2);
  // 128 keys of 256: steps of 32 queries, of which a causal mask cuts the first 4.
  EXPECT_EQ(tiles_of_key_blocks(instance, problem_of(256, 256, MaskSpec::causal())),
            (std::vector<BlockWork>{{2, 2}, {0, 2}}));
  // 7 steps are 4 of the first team.
  EXPECT_EQ(tiles_of_key_blocks(instance, problem_of(200, 128, MaskSpec::full())),
            (std::vector<BlockWork>{{4, 0}}));
}

Problem grouped_problem(int heads_k, int head_dim, const MaskSpec& mask, int seqlen_q,
                        int seqlen_k) {
  Problem problem = problem_of(seqlen_q, seqlen_k, mask, head_dim);
  problem.heads = 6;
  problem.heads_k = heads_k;
  return problem;
}

/// Step by step, as a team of the kernel walks the heads of a group
/// (kernels/volta/backward/walk.h).
BlockWork steps_of_team(const Problem& problem, const Range& keys, int team, int teams) {
  const KeyMask mask = problem.key_mask();
  const volta::GroupWalk walk = volta::group_walk(problem.seqlen_q, 0, problem.group_size());
  const int end = least_of(keys.end - mask.begin_offset, mask.seqlen_q);
  const int first = first_tile<32>({least_of(mask.rows(keys.begin).begin, mask.seqlen_q), end});
  BlockWork work{0, 0, -1};
  for (int head = walk.first;; head = walk.first_of_next(head)) {
    ++work.more_heads;
    const int turn = teams > 1 ? team ^ (walk.member(head) & 1) : team;
    for (int place = head + first + 32 * turn; walk.query(place) < end; place += 32 * teams) {
      const int query = walk.query(place);
      (mask.all_see({query, query + 32}, keys) ? work.full_tiles : work.cut_tiles) += 1;
    }
    if (head >= walk.last) return work;
  }
}

TEST(PassLaunches, WalkEveryHeadOfAGroup) {
  for (const char* const id : {"volta-fp32acc/bwd/d64", "volta-fp32acc/bwd/d128"}) {
    const KernelInstance& instance = instance_of(id);
    for (const MaskSpec& spec : kTestMasks) {
      for (const auto& [seqlen_q, seqlen_k] :
           {std::pair(512, 512), {300, 517}, {517, 300}, {1, 70}}) {
        for (const int heads_k : {1, 2, 6}) {
          const Problem problem =
              grouped_problem(heads_k, instance.head_dim, spec, seqlen_q, seqlen_k);
          const std::vector<BlockWork> blocks = tiles_of_key_blocks(instance, problem);
          for (std::size_t i = 0; i < blocks.size(); ++i) {
            const int key = static_cast<int>(i) * instance.block_rows;
            const BlockWork longest =
                steps_of_team(problem, {key, key + instance.block_rows}, 0, instance.teams);
            SCOPED_TRACE(testing::Message() << id << " " << name_of(spec) << " " << seqlen_q << " "
                                            << seqlen_k << " of " << heads_k << " block " << i);
            if (instance.teams == 1) {
              EXPECT_EQ(blocks[i], longest);
            }
            EXPECT_EQ(blocks[i].full_tiles + blocks[i].cut_tiles,
                      longest.full_tiles + longest.cut_tiles);
            EXPECT_EQ(blocks[i].more_heads, 6 / heads_k - 1);
          }
        }
      }
    }
  }
}

TEST(PassLaunches, OfGroupsHaveAGridOfKeyHeads) {
  const Problem problem = grouped_problem(2, 64, MaskSpec::causal(), 4096, 4096);
  const auto heads = [&](Pass pass, bool is_deterministic, std::size_t launch) {
    return launches_of_pass(kernel_of("volta-fp32acc"), problem, pass, is_deterministic)
        .at(launch)
        .grid.heads;
  };
  EXPECT_EQ(heads(Pass::kForward, false, 0), 12u);
  EXPECT_EQ(heads(Pass::kBackward, false, 0), 12u);  // statistics
  EXPECT_EQ(heads(Pass::kBackward, false, 2), 4u);   // dK and dV
  EXPECT_EQ(heads(Pass::kBackward, false, 3), 12u);  // rounds dQ
  EXPECT_EQ(heads(Pass::kBackward, true, 1), 4u);
  EXPECT_EQ(heads(Pass::kBackward, true, 2), 12u);  // dQ
}

/// Keys that the blocks of rows of all heads load, tile by tile.
double keys_loaded(const Problem& problem, int block_rows, int step) {
  double keys = 0;
  for (int row = 0; row < problem.seqlen_q; row += block_rows) {
    for (int key = 0; key < problem.seqlen_k; key += step) {
      const TileCover cover = problem.key_mask().cover({row, row + block_rows}, {key, key + step});
      if (cover != TileCover::kEmpty) keys += step;
    }
  }
  return keys * problem.batch * problem.heads;
}

TEST(PassLaunches, OfGroupsMoveTheirKeysOnce) {
  const Problem problem = grouped_problem(2, 64, MaskSpec::causal(), 512, 512);
  const double rows = 12.0 * 512, keys = 4.0 * 512;  // of the heads of both entries
  const auto forward = launches_of_pass(kernel_of("volta-fp32acc"), problem, Pass::kForward, false);
  EXPECT_DOUBLE_EQ(forward[0].hbm_bytes,
                   static_cast<double>(compulsory_bytes(Pass::kForward, problem)));
  EXPECT_DOUBLE_EQ(forward[0].l2_bytes,
                   rows * (2 * 128 + 4) + keys_loaded(problem, 128, 64) * 2 * 128);
  const auto backward =
      launches_of_pass(kernel_of("volta-fp32acc"), problem, Pass::kBackward, true);
  EXPECT_DOUBLE_EQ(backward[1].hbm_bytes, keys * 4 * 128 + rows * (2 * 128 + 8));
  // Blocks of 128 keys visit 16, 12, 8 and 4 steps of 32 queries of every head; four warps read the
  // statistics.
  EXPECT_DOUBLE_EQ(backward[1].l2_bytes,
                   keys * 4 * 128 + 12.0 * (16 + 12 + 8 + 4) * 32 * (2 * 128 + 4 * 8));
  EXPECT_DOUBLE_EQ(backward[2].hbm_bytes, rows * (3 * 128 + 8) + keys * 2 * 128);
  EXPECT_DOUBLE_EQ(backward[2].l2_bytes,
                   rows * (3 * 128 + 8) + keys_loaded(problem, 128, 32) * 2 * 128);
}

TEST(PassLaunches, OfACausalMaskBeginWithTheLongest) {
  const Problem problem = problem_of(512, 512, MaskSpec::causal());
  const auto launches =
      launches_of_pass(kernel_of("volta-fp32acc"), problem, Pass::kForward, false);
  EXPECT_EQ(launches.front().grid.of_head,
            (std::vector<BlockWork>{{6, 2}, {4, 2}, {2, 2}, {0, 2}}));
  EXPECT_EQ(launches.front().grid.heads, 6u);
  const auto backward =
      launches_of_pass(kernel_of("volta-fp32acc"), problem, Pass::kBackward, true);
  EXPECT_EQ(backward[1].grid.of_head, (std::vector<BlockWork>{{6, 2}, {4, 2}, {2, 2}, {0, 2}}));
  EXPECT_EQ(backward[2].grid.of_head.front(), (BlockWork{0, 4}));  // 32 keys a tile, ascending
}

TEST(PassLaunches, WalkAsManyTilesAsTheEmulatedOnes) {
  const Problem problem = problem_of(700, 700, MaskSpec::window(90));
  const auto launches =
      launches_of_pass(kernel_of("volta-fp32acc"), problem, Pass::kForward, false);
  const std::vector<double> emulated =
      tiles_of_blocks(problem, launches.front().instance->block_rows, {64},
                      launches_last_tile_first(problem.key_mask()));
  ASSERT_EQ(launches.front().grid.of_head.size(), emulated.size());
  for (std::size_t i = 0; i < emulated.size(); ++i) {
    const BlockWork& work = launches.front().grid.of_head[i];
    EXPECT_EQ(static_cast<double>(work.full_tiles + work.cut_tiles), emulated[i]);
  }
}

TEST(PassLaunches, MoveTheCompulsoryBytesThroughHbm) {
  const Problem problem = problem_of(512, 640, MaskSpec::full());
  const auto forward = launches_of_pass(kernel_of("volta-fp32acc"), problem, Pass::kForward, false);
  EXPECT_DOUBLE_EQ(forward.front().hbm_bytes,
                   static_cast<double>(compulsory_bytes(Pass::kForward, problem)));
  // Four blocks of queries read K and V, 640 rows of 128 bytes each, in each of six heads.
  const double q_o_lse = 6.0 * 512 * (2 * 128 + 4);
  EXPECT_DOUBLE_EQ(forward.front().l2_bytes, q_o_lse + 6.0 * 4 * 640 * 2 * 128);
}

TEST(PassLaunches, OfTheBackwardPassMoveSumsOfDq) {
  const Problem problem = problem_of(640, 640, MaskSpec::full());
  const auto launches =
      launches_of_pass(kernel_of("volta-fp32acc"), problem, Pass::kBackward, false);
  const double rows = 6.0 * 640, sums = rows * 64 * 4, halves = rows * 128;
  EXPECT_DOUBLE_EQ(launches[0].hbm_bytes, 2 * halves + rows * (4 + 8));
  EXPECT_DOUBLE_EQ(launches[1].hbm_bytes, sums);
  EXPECT_DOUBLE_EQ(launches[2].hbm_bytes, 6 * halves + rows * 8 + 2 * sums);
  // Five blocks of keys visit each query: q, d_o, four times its statistics, two additions to dQ.
  EXPECT_DOUBLE_EQ(launches[2].l2_bytes, 4 * halves + 5 * (2 * halves + rows * 4 * 8 + 2 * sums));
  EXPECT_DOUBLE_EQ(launches[3].hbm_bytes, sums + halves);
}

TEST(PassLaunches, LargestProblemsAreCountedAtOnce) {
  const Problem problem = problem_of(1 << 26, 1 << 26, MaskSpec::causal());
  const std::vector<BlockWork> blocks =
      tiles_of_query_blocks(instance_of("volta-fp32acc/fwd/d64"), problem);
  EXPECT_EQ(blocks.back(), (BlockWork{(1 << 20) - 2, 2}));
}

}  // namespace
}  // namespace sparkbench
