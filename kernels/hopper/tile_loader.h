// The producer warps of all kernels. One operand of a block's products stays in shared memory for
// an item, and tiles of the other pass through a ring of stages, ahead of the consumer warpgroups:
//   forward, dQ    Q stays, and for dQ dO; K and V pass
//   dK/dV          K and V stay; Q, dO, their statistics and dropout pass
#pragma once

#include <type_traits>

#include "kernels/base/planted_fault.h"
#include "kernels/hopper/stage_ring.h"
#include "kernels/hopper/tile_copies.h"
#include "kernels/tile/walk.h"

namespace sparkbench::hopper {

enum class Stays { kQueries, kKeys };

/// Machine is an ItemMachine, or a RunMachine.
template <Stays kStays, class Config, class Machine, class Params, class Copies>
class TileLoader {
 public:
  using Tiles = typename Config::Tiles;
  using Stage = typename Tiles::Stage;

  SPARK_DEVICE TileLoader(Machine& machine, const Params& params, const Copies& copies)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<Tiles>()),
        copies_(copies) {}

  /// The item's rows of the operand that stays, from its first row on.
  SPARK_DEVICE void load_staying(const HeadRows& rows) {
    auto& barriers = tiles_.barriers;
    const int place = staying_.place();
    if constexpr (kStays == Stays::kQueries) {
#pragma unroll 1
      for (int warpgroup = 0; warpgroup < Config::kWarpgroups; ++warpgroup) {
        const HeadRows of_warpgroup = rows.from(kWarpgroupRows * warpgroup);
        wait(barriers.q_empty[place][warpgroup], staying_);
        copies_.begin(barriers.q_full[place][warpgroup]);
        copy(params_.q, params_.q_map, of_warpgroup, tiles_.q[place][warpgroup]);
        if constexpr (Config::kQueryTensors == 2) {
          copy(params_.d_o, params_.d_o_map, of_warpgroup, tiles_.d_o[place][warpgroup]);
        }
        copies_.end();
      }
    } else {
      wait(barriers.rows_empty[place], staying_);
      copies_.begin(barriers.rows_full[place]);
#pragma unroll 1
      for (int tile = 0; tile < Config::kKeyTiles; ++tile) {
        const HeadRows of_tile = rows.from(kWarpgroupRows * tile);
        copy(params_.k, params_.k_map, of_tile, tiles_.k[place][tile]);
        copy(params_.v, params_.v_map, of_tile, tiles_.v[place][tile]);
      }
      copies_.end();
    }
    staying_.advance();
  }

  /// The next tile of K and V, where these pass.
  SPARK_DEVICE void load_keys(const HeadRows& rows) {
    auto& barriers = tiles_.barriers;
    const int place = passing_.place();
    const auto load = [&](const ChunkedView<const Bits16>& view, const TensorMap& map, auto& tile,
                          Mbarrier& full) {
      copies_.begin(full);
      copy(view, map, rows, tile);
      copies_.end();
    };
    // Waiting for each separately takes a register that varlen kernels lack; with many stages it
    // gains nothing.
    constexpr bool kWaitsForBoth = kIsVarlen<Config> && Config::kStages > 3;
    SPARK_UNLESS_PLANTED(kStageFilledEarly, wait(barriers.k_empty[place], passing_));
    if constexpr (kWaitsForBoth) wait(barriers.v_empty[place], passing_);
    load(params_.k, params_.k_map, tiles_.stage[place].k, barriers.k_full[place]);
    if constexpr (!kWaitsForBoth) wait(barriers.v_empty[place], passing_);
    load(params_.v, params_.v_map, tiles_.stage[place].v, barriers.v_full[place]);
    passing_.advance();
  }

  /// Waits for the next stage of Q and dO, where these pass. What is put there until end_queries()
  /// arrives together.
  SPARK_DEVICE Stage& begin_queries() {
    const int place = passing_.place();
    wait(tiles_.barriers.empty[place], passing_);
    copies_.begin(tiles_.barriers.full[place]);
    return tiles_.stage[place];
  }
  /// `statistics` is the index of the queries' first StatisticsTile.
  SPARK_DEVICE void copy_queries(const HeadRows& rows, std::size_t statistics, Stage& stage) {
    copy(params_.q, params_.q_map, rows, stage.q);
    copy(params_.d_o, params_.d_o_map, rows, stage.d_o);
    copies_.copy_bytes(stage.statistics[0].offset, params_.statistics[statistics].offset,
                       static_cast<int>(sizeof stage.statistics));
  }
  SPARK_DEVICE void end_queries() {
    copies_.end();
    passing_.advance();
  }
  /// The place of the stage between them.
  SPARK_DEVICE int stage_place() const { return passing_.place(); }

 private:
  /// Until no consumer reads what the stage had.
  template <int kPlaces>
  SPARK_DEVICE void wait(Mbarrier& empty, const Ring<kPlaces>& ring) {
    machine_.wait_at_mbarrier(&empty, ring.empty_parity());
  }
  template <class Tile>
  SPARK_DEVICE void copy(const ChunkedView<const Bits16>& view, const TensorMap& map,
                         const HeadRows& rows, Tile& tile) {
    copies_.copy(tile, view, map, rows, params_.head_chunks);
  }

  Machine& machine_;
  const Params& params_;
  Tiles& tiles_;
  Copies copies_;
  StageRing<Config> passing_;
  RowsRing<Config> staying_;
};

/// run(loader) as the warps that load.
template <Stays kStays, class Config, class Machine, class Params, class Run>
SPARK_DEVICE void with_loader(Machine& machine, const Params& params, Run run) {
  const int loader_warp = machine.uniform(machine.warp()) - Config::kConsumerWarps;
  if (loader_warp >= kLoaderWarps<Config>) return;
  using Copies = std::conditional_t<kIsVarlen<Config>, PackedCopies<Machine>, BoxCopies<Machine>>;
  TileLoader<kStays, Config, Machine, Params, Copies> loader(machine, params,
                                                             Copies(machine, loader_warp));
  run(loader);
}

}  // namespace sparkbench::hopper
