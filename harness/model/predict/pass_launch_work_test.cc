// What the blocks of a pass' launches walk, and the bytes that they move.
#include <gtest/gtest.h>

#include <vector>

#include "harness/model/predict/block_tiles.h"
#include "harness/model/predict/pass_launches.h"
#include "harness/model/predict/test_instance.h"
#include "harness/model/predict/test_pass_launches.h"
#include "kernels/launch/forward_launch.h"
#include "kernels/mask/test_masks.h"
#include "kernels/tile/forward_params.h"
#include "kernels/volta/backward/walk.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

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

TEST(PassLaunchWork, CountTheTilesThatTheMaskCovers) {
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

TEST(PassLaunchWork, CountTheStepsThatAKeyBlockWalks) {
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

TEST(PassLaunchWork, TeamsTakeTurnsInTheSteps) {
  const KernelInstance& instance = instance_of("volta-fp32acc/bwd/d64");
  ASSERT_EQ(instance.teams, 2);
  // 128 keys of 256: steps of 32 queries, of which a causal mask cuts the first 4.
  EXPECT_EQ(tiles_of_key_blocks(instance, problem_of(256, 256, MaskSpec::causal())),
            (std::vector<BlockWork>{{2, 2}, {0, 2}}));
  // 7 steps are 4 of the first team.
  EXPECT_EQ(tiles_of_key_blocks(instance, problem_of(200, 128, MaskSpec::full())),
            (std::vector<BlockWork>{{4, 0}}));
}

/// Of 64 keys' steps of 32 queries: such as see one half of the keys alone.
TEST(PassLaunchWork, CountsWholeStepsAmongCutOnesWhereOthersAreHalves) {
  const KernelInstance& instance = instance_of("volta-fp32acc/bwd/d64/relay");
  ASSERT_TRUE(instance.halves_steps && instance.teams == 2 && instance.block_rows == 64);
  // Half, whole; two full; whole, half. The last keys' queries are two steps, one of them a half.
  const std::vector<BlockWork> in_window =
      tiles_of_key_blocks(instance, problem_of(512, 512, MaskSpec::window(128)));
  EXPECT_EQ(in_window.front(), (BlockWork{1, 2, 0, 2}));
  EXPECT_EQ(in_window.back(), (BlockWork{0, 1, 0, 2}));
  // A step that only one team has.
  EXPECT_EQ(tiles_of_key_blocks(instance, problem_of(256, 256, MaskSpec::causal())).front(),
            (BlockWork{3, 1, 0, 2}));
  // Keys that end in a first half: of their block all steps are halves.
  EXPECT_EQ(tiles_of_key_blocks(instance, problem_of(128, 96, MaskSpec::full())),
            (std::vector<BlockWork>{{2, 0, 0, 0}, {0, 2, 0, 0}}));
  // With two heads each team has such a step.
  EXPECT_EQ(tiles_of_key_blocks(instance,
                                [&] {
                                  Problem problem = problem_of(256, 256, MaskSpec::causal());
                                  problem.heads = 2;
                                  problem.heads_k = 1;
                                  return problem;
                                }())
                .front(),
            (BlockWork{6, 2, 1, 2}));
}

TEST(PassLaunchWork, CountsHalfStepsAsTheKernelTakesThem) {
  const KernelInstance& instance = instance_of("volta-fp32acc/bwd/d64/relay");
  for (const MaskSpec& spec : kTestMasks) {
    for (const auto& [seqlen_q, seqlen_k] :
         {std::pair(512, 512), {300, 517}, {517, 300}, {96, 70}}) {
      const Problem problem = problem_of(seqlen_q, seqlen_k, spec);
      const KeyMask mask = problem.key_mask();
      const std::vector<BlockWork> blocks = tiles_of_key_blocks(instance, problem);
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const int key = static_cast<int>(i) * 64, middle = key + 32;
        const int end = least_of(key + 64 - mask.begin_offset, seqlen_q);
        std::int64_t halves = 0;
        for (int query = first_tile<32>({mask.rows(key).begin, end}); query < end; query += 32) {
          if (mask.end(query + 31) <= middle || mask.begin(query) >= middle) ++halves;
        }
        EXPECT_EQ(blocks[i].more_parts,
                  2 * (blocks[i].cut_tiles - std::min(blocks[i].cut_tiles, halves / 2)))
            << name_of(spec) << " " << seqlen_q << " " << seqlen_k << " block " << i;
      }
    }
  }
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

TEST(PassLaunchWork, WalkEveryHeadOfAGroup) {
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

TEST(PassLaunchWork, OfGroupsHaveAGridOfKeyHeads) {
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

TEST(PassLaunchWork, OfGroupsMoveTheirKeysOnce) {
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

TEST(PassLaunchWork, OfACausalMaskBeginWithTheLongest) {
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

TEST(PassLaunchWork, WalkAsManyTilesAsTheEmulatedOnes) {
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

TEST(PassLaunchWork, MoveTheCompulsoryBytesThroughHbm) {
  const Problem problem = problem_of(512, 640, MaskSpec::full());
  const auto forward = launches_of_pass(kernel_of("volta-fp32acc"), problem, Pass::kForward, false);
  EXPECT_DOUBLE_EQ(forward.front().hbm_bytes,
                   static_cast<double>(compulsory_bytes(Pass::kForward, problem)));
  // Four blocks of queries read K and V, 640 rows of 128 bytes each, in each of six heads.
  const double q_o_lse = 6.0 * 512 * (2 * 128 + 4);
  EXPECT_DOUBLE_EQ(forward.front().l2_bytes, q_o_lse + 6.0 * 4 * 640 * 2 * 128);
}

TEST(PassLaunchWork, OfTheBackwardPassMoveSumsOfDq) {
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

TEST(PassLaunchWork, LargestProblemsAreCountedAtOnce) {
  const Problem problem = problem_of(1 << 26, 1 << 26, MaskSpec::causal());
  const std::vector<BlockWork> blocks =
      tiles_of_query_blocks(instance_of("volta-fp32acc/fwd/d64"), problem);
  EXPECT_EQ(blocks.back(), (BlockWork{(1 << 20) - 2, 2}));
}

}  // namespace
}  // namespace sparkbench
