// The steps of the dQ kernel, each once. schedules.h puts them in order. The kernel costs two more
// products than adding dQ up in the dK/dV kernel (S and dP are computed twice), and needs no
// workspace for dQ.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/tile/dropout.h"
#include "kernels/tile/softmax_gradient.h"
#include "kernels/tile/walk.h"
#include "kernels/volta/backward/dq_walk.h"
#include "kernels/volta/backward/kept_chunks.h"
#include "kernels/volta/tile/statistics_rows.h"
#include "kernels/volta/tile/tile_accumulator.h"

namespace sparkbench::volta {

/// S and dP of a warp and a tile of keys.
template <class Config>
struct KeyTileScores {
  AccumulatorFragment<Config::kAccumulator> s[Config::kScoreGroups][Config::kKeySteps] = {};
  AccumulatorFragment<Config::kAccumulator> dp[Config::kScoreGroups][Config::kKeySteps] = {};
  TileDropout<typename Config::Layout, Config::kScoreKeys, Config::kScoreGroups> dropout;
};

/// 16 rows of them in FP32.
template <class Config>
struct KeyGroupScores {
  float p[Config::kKeySteps][8];   // S, then P
  float ds[Config::kKeySteps][8];  // dP, then dS
};

/// A warp's registers from one tile of keys to the next: the statistics of the rows whose dS it
/// forms, and dQ. Not a member of the warp, for the same reason as in BackwardWarp.
template <class Config>
struct DqRows {
  RowStatistics statistics[Config::kScoreGroups][Config::Layout::kRowsPerLane];
  DqOfWarp<Config> dq = {};
};

/// A warp of the dQ kernel: its block's coordinates, and what it can do with a tile.
template <class Config, class Machine>
class BackwardDqWarp : public DqWalk<Config, Machine> {
  using Walk = DqWalk<Config, Machine>;
  using Walk::block_;
  using Walk::first_group;
  using Walk::first_score_key;
  using Walk::key_of;
  using Walk::keys_;
  using Walk::machine_;
  using Walk::params_;
  using Walk::row_of_group;
  using Walk::score_part;

 public:
  using Tile = KeyTileScores<Config>;
  using Group = KeyGroupScores<Config>;
  using Rows = DqRows<Config>;
  using Staged = StagedTiles<typename Config::StagedKeys>;

  SPARK_DEVICE BackwardDqWarp(Machine& machine, const BackwardParams& params)
      : Walk(machine, params), tiles_(machine.template shared<BackwardDqTiles<Config>>()) {
    if constexpr (Config::kKeepsKeyHead) block_.head = params.groups.key_head(block_.head);
    this->find_tiles(head());
    batch_head_ = static_cast<std::uint32_t>(block_.sequence * params.heads + head());
  }

  /// Log-sum-exp and D of the lane's rows.
  SPARK_DEVICE void load_statistics(Rows& rows) {
    const std::uint32_t head_of_workspace =
        kIsVarlen<Config> ? static_cast<std::uint32_t>(head()) : batch_head_;
#pragma unroll
    for (int g = 0; g < Config::kScoreGroups; ++g) {
      sparkbench::load_statistics<Config::kAccumulator>(
          machine_,
          params_.workspace.statistics_of(head_of_workspace,
                                          block_.workspace_row + row_of_group(g)),
          rows.statistics[g]);
    }
  }

  /// Q and dO, and K and V from first_key on. Each warp fills its own rows of every tile.
  SPARK_DEVICE void stage_first_tiles(int first_key) {
    StagedTiles<typename Config::StagedQueries> queries;
    load_rows(params_.q, queries.first);
    queries.first.store(machine_, tiles_.q);
    load_rows(params_.d_o, queries.second);
    queries.second.store(machine_, tiles_.d_o);
    Staged keys;
    this->load_keys(key_of(first_key), keys);
    store_keys(buffer(first_key), keys);
    machine_.barrier();
    const auto place = Config::QueryTile::lane_place(
        kGridRows * first_group() + grid_operand_row(machine_.lane()), 0);
    kept_[0].load(machine_, tiles_.q, place);
    kept_[1].load(machine_, tiles_.d_o, place);
  }

  /// S = Q K^T.
  SPARK_DEVICE void scores(int first_key, Tile& tile) {
    machine_.recompute_indices();
    multiply(tiles_.q, kept_[0], tiles_.k[buffer(first_key)], tile.s);
  }
  /// dP = dO V^T.
  SPARK_DEVICE void gradients(int first_key, Tile& tile) {
    multiply(tiles_.d_o, kept_[1], tiles_.v[buffer(first_key)], tile.dp);
  }
  /// S and dP of 16 rows in FP32. What follows is for 16 rows, too.
  SPARK_DEVICE void widen(int g, const Tile& tile, Group& group) {
#pragma unroll
    for (int step = 0; step < Config::kKeySteps; ++step) {
      sparkbench::widen(machine_, tile.s[g][step], group.p[step]);
      sparkbench::widen(machine_, tile.dp[g][step], group.ds[step]);
    }
  }

  /// S = -inf where the mask hides a key.
  SPARK_DEVICE void mask(int first_key, int g, Group& group) { this->hide(first_key, g, group); }
  /// Which elements of a tile are dropped.
  SPARK_DEVICE void draw_dropout(int first_key, Tile& tile) {
    if constexpr (Config::kHasDropout) {
      tile.dropout.draw(machine_, params_, batch_head_, row_of_group(0),
                        first_score_key(key_of(first_key)));
    }
  }
  /// Waits until no warp of the block reads V, if line 7 overwrites it. (A branch before a loop
  /// that is to be unrolled makes nvcc 11.8 forget that.)
  SPARK_DEVICE void free_values() {
    if constexpr (Config::kBuffers == 1) machine_.barrier();
  }
  /// dP = 0 there.
  SPARK_DEVICE void drop(int g, const Tile& tile, Group& group) {
    if constexpr (Config::kHasDropout) tile.dropout.drop(g, group.ds);
  }
  /// P = exp(scale S - lse).
  SPARK_DEVICE void probabilities(int g, const Rows& rows, Group& group) {
    recompute_probabilities<Layout>(machine_, params_.scale_log2, rows.statistics[g], group.p);
  }
  /// dS = P (dP - D).
  SPARK_DEVICE void score_gradients(int g, const Rows& rows, Group& group) {
    sparkbench::score_gradients<Layout, ProbabilityScale<Config::kAccumulator>>(
        machine_, rows.statistics[g], group.p, group.ds);
  }
  /// dS as fp16, over the buffer of the next K and V.
  SPARK_DEVICE void store_score_gradients(int first_key, int g, const Group& group) {
    store_gradients<Config::kAccumulator>(
        machine_, group.ds, *tiles_.gradients(buffer(first_key) ^ 1, first_group() + g),
        Config::kKeySteps * score_part());
  }

  /// Barrier of all warps that have dS of the rows of this warp's dQ.
  SPARK_DEVICE void meet_score_gradients() {
    if constexpr (Config::kOwnsRows) {
      machine_.sync_warp();
    } else {
      machine_.barrier();
    }
  }

  /// K and V of the tile after this one, to registers and to shared memory.
  SPARK_DEVICE void load_next(int first_key, Staged& next) {
    this->load_keys(key_of(next_tile<Config::kBlockN>(keys_, first_key)), next);
  }
  SPARK_DEVICE void store_next(int first_key, const Staged& next) {
    store_keys(Config::kBuffers == 1 ? 0 : buffer(first_key) ^ 1, next);
  }

  /// dQ += dS K. FP16-ACC sums one tile of keys in FP16.
  SPARK_DEVICE void add_dq(int first_key, Rows& rows) {
    const DqShare<Config> share(machine_.warp());
    const int buffer_of_gradients = buffer(first_key) ^ 1;
    ProbabilityTile<Config::kBlockN>* ds[Config::kDqGroups];
#pragma unroll
    for (int g = 0; g < Config::kDqGroups; ++g) {
      ds[g] = tiles_.gradients(buffer_of_gradients, share.first_group + g);
    }
    auto& k = tiles_.k[buffer(first_key)];
    if constexpr (Config::kAccumulator == Accumulator::kFp32) {
      add_product<Accumulator::kFp32>(ds, k, share.column_block, rows.dq);
    } else {
      constexpr int kGroups = Config::Columns::kGroups;
      AccumulatorFragment<Accumulator::kFp16> of_tile[Config::kDqGroups][kGroups] = {};
      add_product<Accumulator::kFp16>(ds, k, share.column_block, of_tile);
#pragma unroll
      for (int g = 0; g < Config::kDqGroups; ++g) {
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
          add_tile(machine_, of_tile[g][group], 1.0f, rows.dq[g][group]);
        }
      }
    }
  }

  /// scale * dQ to global memory.
  SPARK_DEVICE void write(const Rows& rows) {
    // In a block that sees no key, warps may still be reading Q and dO into registers.
    if constexpr (Config::kKeptChunks > 0) machine_.barrier();
    // Recomputed, not kept through the loop.
    this->restore_block();
    const int part_row = WalkOf<Config>::part_row(machine_, params_.sparse_queries, head());
    const bool is_part = part_row != kNoPart;
    const DqShare<Config> share(machine_.warp());
    float factor[Layout::kRowsPerLane];
#pragma unroll
    for (float& value : factor)
      value = params_.scale * SPARK_PLANTED(kDqKeepScaleLost, params_.dropout.keep_scale, 1.0f);
    const int seqlen_q = mask_of_queries<Config>(machine_, params_).seqlen_q;
#pragma unroll
    for (int g = 0; g < Config::kDqGroups; ++g) {
      const int first_row = block_.first_row + kGridRows * (share.first_group + g);
      auto& tile = *tiles_.output(machine_.warp(), g);
      store_output<Config::kAccumulator>(machine_, tile, factor, rows.dq[g]);
      machine_.sync_warp();
      using Columns = typename Config::Columns;
      Bits16* const first =
          is_part
              ? params_.part_dq.at(block_.batch, part_row + first_row - block_.first_row, head())
              : params_.dq.at(block_.batch, block_.first_q + first_row, head());
      const int row_stride = is_part ? params_.part_dq.row_stride() : params_.dq.row_stride();
      if constexpr (Columns::kHasHalfBlocks) {
        write_half_block_rows<Columns>(machine_, tile, share.column_block,
                                       {first, row_stride, seqlen_q - first_row,
                                        written_chunks<Config, Config::kHeadDim / 8>(params_, 0)},
                                       [](int row) { return row; });
      } else {
        write_rows(machine_, tile,
                   OutputRows{first + 64 * share.column_block, row_stride, seqlen_q - first_row,
                              written_chunks<Config, 8>(params_, 8 * share.column_block)});
      }
    }
  }

 private:
  using Layout = typename Config::Layout;
  using KeptRows = KeptChunks<Config::kKeptChunks, Config::kScoreGroups>;

  SPARK_DEVICE static int buffer(int first_key) {
    return Config::kBuffers == 1 ? 0 : (first_key / Config::kBlockN) & 1;
  }
  SPARK_DEVICE int head() const {
    return Config::kKeepsKeyHead ? this->head_of_block() : block_.head;
  }

  /// C = A B^T for the warp's rows and keys.
  template <int kGroups, int kSteps>
  SPARK_DEVICE void multiply(typename Config::QueryTile& a, const KeptRows& kept,
                             typename Config::KeyTile& b,
                             AccumulatorFragment<Config::kAccumulator> (&c)[kGroups][kSteps]) {
    using ATile = typename Config::QueryTile;
    using BTile = typename Config::KeyTile;
    const int lane = machine_.lane();
    const auto a_place = ATile::lane_place(kGridRows * first_group() + grid_operand_row(lane), 0);
    matmul_scores<Config::kAccumulator, Operand::kB>(
        machine_,
        [&](int g, int chunk) {
          if (kept.has(chunk)) return kept.at(g, chunk);
          return machine_.template load_shared<Bits128>(a.at(a_place, kGridRows * g, chunk));
        },
        b, BTile::lane_place(Config::kScoreKeys * score_part() + grid_operand_key(lane), 0), c);
  }

  template <Accumulator kSum>
  SPARK_DEVICE void add_product(
      ProbabilityTile<Config::kBlockN>* const (&ds)[Config::kDqGroups], typename Config::KeyTile& k,
      int column_block,
      AccumulatorFragment<kSum> (&sum)[Config::kDqGroups][Config::Columns::kGroups]) {
    using Columns = typename Config::Columns;
    using KeyTile = typename Config::KeyTile;
    matmul_probabilities<kSum, Config::kBlockN, Columns::kBlocks, Columns::kHasHalfBlocks>(
        machine_, [&](int g, int chunk) { return load_probabilities(machine_, *ds[g], chunk); }, k,
        output_operand_place<KeyTile>(machine_.lane()), Columns::first_block(column_block), sum, 0,
        {half_block_place<KeyTile>(machine_.lane()), Columns::half_chunk(column_block)});
  }

  /// The block's rows of Q or dO.
  SPARK_DEVICE void load_rows(const ChunkedView<const Bits16>& tensor,
                              typename Config::StagedQueries& staged) {
    using Queries = typename Config::StagedQueries;
    const int seqlen_q = mask_of_queries<Config>(machine_, params_).seqlen_q;
    staged.load(
        machine_,
        {tensor.at(block_.batch, block_.first_q + block_.first_row, head()), tensor.row_stride(),
         copied_rows<Config, Queries>(machine_, params_, seqlen_q - block_.first_row)},
        copies_last<Config, Queries>(machine_, params_));
  }
  SPARK_DEVICE void store_keys(int buffer, const Staged& staged) {
    staged.first.store(machine_, tiles_.k[buffer]);
    staged.second.store(machine_, tiles_.v[buffer]);
  }

  BackwardDqTiles<Config>& tiles_;
  KeptRows kept_[2];  // of Q and of dO
  std::uint32_t batch_head_;
};

}  // namespace sparkbench::volta
