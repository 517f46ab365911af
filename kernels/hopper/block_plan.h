// How a block's warpgroups are divided, and what the configurations of all kernels share.
#pragma once

#include <type_traits>

#include "kernels/base/half.h"
#include "kernels/tile/lazy_rows.h"
#include "kernels/tile/m16n8k16_layout.h"
#include "kernels/tile/probability_scale.h"
#include "kernels/tile/walk.h"

namespace sparkbench::hopper {

inline constexpr int kWarpgroupWarps = 4;
inline constexpr int kWarpgroupRows = 64;  // of a wgmma

/// The work of a launch's CTAs: rows, or keys, of equally long sequences; row runs, which are
/// consecutive query tiles with few keys each (row_runs.h); rows or keys of a pattern's list
/// (tile/sparse_list.h), or of varlen sequences (tile/work_list.h).
enum class Blocks { kDense, kRuns, kSparse, kPacked };

/// How a block of a kernel of so many columns is divided.
struct BlockPlan {
  int tile_keys;
  int warpgroups;          // of 64 rows each, not counting the one that loads
  int stages;              // tiles of K and V that shared memory holds
  int consumer_registers;  // of a thread: the loader leaves them some of its own
  int loader_registers;
  int blocks_per_sm = 1;
};

/// What the configurations of all kernels share: the columns that are multiplied, and the fewest
/// that tensors may have; missing columns are zeros in shared memory.
template <int kColumns, bool kDropout, int kLeastColumns, Blocks kBlocks>
struct WarpgroupConfig {
  using Element = Half;
  static constexpr int kHeadDim = kColumns, kLeastHeadDim = kLeastColumns;
  static constexpr bool kHasDropout = kDropout;
  using Walk = std::conditional_t<
      kBlocks == Blocks::kPacked, VarlenWalk,
      std::conditional_t<kBlocks == Blocks::kSparse, BlockSparseWalk, DenseWalk>>;
  static constexpr bool kHasRuns = kBlocks == Blocks::kRuns;
  static constexpr int kMostVisits = 0, kMostTiles = 0;  // above 0 it carries dQ
  static constexpr bool kKeepsTileOrder = true;
  static constexpr bool kLoaderDraws = false;  // what is dropped
  static constexpr int kTileStart = 64;        // tiles of keys begin at multiples of it
  static constexpr int kColumnSteps = kColumns / 8;
  static constexpr int kProductDepth = 16;  // k of a wgmma
  static_assert(kColumns % kProductDepth == 0 && kColumns <= 256, "k steps, and N of a product");
  using Layout = M16n8k16Layout;
  using Scale = PlainProbabilities;
  using Rows = LazyRows<Layout, 1, Scale>;
};

/// Registers that a thread has at launch if so many threads share an SM. ptxas gives no more, and
/// fewer if warpgroups ask for fewer.
constexpr int launch_registers(int threads) {
  return 65536 / threads < 248 ? 65536 / threads / 8 * 8 : 248;
}

/// What a plan adds to a configuration.
template <class Plan>
struct Planned {
  static constexpr BlockPlan kPlan = Plan::kPlan;
  static constexpr int kWarpgroups = kPlan.warpgroups, kLoaderWarps = kWarpgroupWarps;
  static constexpr int kConsumerWarps = kWarpgroupWarps * kWarpgroups;
  static constexpr int kThreads = 32 * (kConsumerWarps + kLoaderWarps);
  static constexpr int kBlocksPerSm = kPlan.blocks_per_sm;
  static constexpr int kConsumerRegisters = kPlan.consumer_registers;
  static constexpr int kLoaderRegisters = kPlan.loader_registers;
  /// Registers of a thread at launch. The consumers can take what the loader gives, and no more.
  static constexpr int kLaunchRegisters = launch_registers(kThreads * kBlocksPerSm);
  static_assert(kConsumerWarps * kConsumerRegisters + kLoaderWarps * kLoaderRegisters <=
                    (kConsumerWarps + kLoaderWarps) * kLaunchRegisters,
                "a warpgroup would wait for registers that nobody gives");
  static constexpr int kStages = kPlan.stages;
};

}  // namespace sparkbench::hopper
