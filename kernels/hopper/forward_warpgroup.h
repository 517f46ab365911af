// A warp of a warpgroup of the forward kernel: what it carries from one tile of keys to the next,
// 16 of the 64 rows that its warpgroup multiplies, and what it can do with a tile. forward.h puts
// these in order.
#pragma once

#include "kernels/hopper/copy_rows.h"
#include "kernels/hopper/output_rows.h"
#include "kernels/hopper/stage_ring.h"
#include "kernels/hopper/walked_tile.h"
#include "kernels/tile/dropout.h"
#include "kernels/tile/mask.h"

namespace sparkbench::hopper {

template <class Config, class Machine>
class ForwardWarpgroup {
 public:
  using Fragment = typename Config::Layout::Fragment;
  using Softmax = TileSoftmax<typename Config::Layout, 1>;
  static constexpr int kProductSteps = Config::kBlockN / Config::kProductKeys;

  /// A tile's scores, and what P becomes of them: operand A of P V.
  struct Scores {
    Fragment score[1][Config::kKeySteps];
  };
  struct Probabilities {
    m16n8k16::FragmentA of[kProductSteps];
  };

  SPARK_DEVICE ForwardWarpgroup(Machine& machine, const ForwardParams& params)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<ForwardTiles<Config>>()),
        block_(locate_block<Config>(machine, params)),
        warpgroup_(machine.uniform(machine.warp()) / kWarpgroupWarps),
        first_row_(block_.first_row + kWarpRows * machine.warp()),
        q_(describe_rows(machine, tiles_.q[warpgroup_])),
        k_(describe_rows(machine, tiles_.stage[0].k)),
        v_(describe_columns(machine, tiles_.stage[0].v)) {
#pragma unroll
    for (Fragment& columns : o_) {
#pragma unroll
      for (float& element : columns.element) element = 0.0f;
    }
  }

  /// Q of the warpgroup's rows to shared memory. All warps of the block meet.
  SPARK_DEVICE void stage_queries() {
    const int row = block_.first_row + kWarpgroupRows * warpgroup_;
    copy_block_rows<Config>(machine_, tiles_.q[warpgroup_], params_.q, params_.sparse.order,
                            block_.batch, block_.head, row, params_.mask.seqlen_q,
                            params_.head_chunks);
    machine_.commit_copies();
    machine_.template wait_for_copies<0>();
    machine_.fence_async_proxy();
    machine_.barrier_of_warps();
  }

  /// S = Q K^T of a stage.
  SPARK_DEVICE void start_scores(int stage, Scores& scores) {
    const std::uint64_t k = k_ + stage_step(stage);
#pragma unroll
    for (int step = 0; step < Config::kHeadDim / 16; ++step) {
      machine_.template multiply_async<Config::kBlockN, kColumnsAreK>(
          scores.score[0], q_ + columns_step<typename Config::QueryTile>(step),
          k + columns_step<typename Config::KeyTile>(step), step > 0);
    }
  }
  /// O += P V of a stage.
  SPARK_DEVICE void start_values(int stage, const Probabilities& p) {
    const std::uint64_t v = v_ + stage_step(stage);
#pragma unroll
    for (int step = 0; step < kProductSteps; ++step) {
      machine_.template multiply_async<Config::kHeadDim, kRowsAreK>(o_, p.of[step],
                                                                    v + rows_step(step), true);
    }
  }

  /// What the block's tile at `place` is to the warpgroup.
  SPARK_DEVICE WalkedTile tile_at(int place) {
    if constexpr (Config::kIsSparse) {
      return load_listed_tile<Config>(machine_, params_, place, warpgroup_);
    } else {
      const int row = block_.first_row + kWarpgroupRows * warpgroup_;
      const Range keys = params_.mask.keys_of_any({row, row + kWarpgroupRows});
      return {place, place < keys.end && place + Config::kBlockN > keys.begin};
    }
  }

  /// S = -inf where the mask hides a key: of tiles that it cuts alone.
  SPARK_DEVICE void mask(int place, const WalkedTile& tile, Scores& scores) {
    const auto hide = [&](int step, int i) { Config::Layout::hide(scores.score[0][step], i); };
    if constexpr (Config::kIsSparse) {
      if (!tile.is_cut()) return;
      constexpr int kRowWords = Config::kBlockN / kSparseWordKeys;
      const int words_of_tile =
          load_of_list(machine_, &tile_of_place<Config::kBlockN>(params_.sparse, place)->words);
      const std::uint32_t* const words =
          params_.sparse.words + (words_of_tile + kRowWords * kWarpRows * machine_.warp());
      hide_unseen<typename Config::Layout, Config::kKeySteps, kRowWords>(machine_, words, hide);
    } else {
      const Range rows{first_row_, first_row_ + kWarpRows};
      if (params_.mask.all_see(rows, {place, place + Config::kBlockN})) return;
      hide_scores<typename Config::Layout, Config::kKeySteps>(params_.mask, machine_.lane(),
                                                              first_row_, place, hide);
    }
  }

  /// m = rowmax(m, S); l += P = exp(S - m), P = 0 where dropped, to fp16; O = rescale * O.
  SPARK_DEVICE void form_probabilities(int place, Scores& scores, Probabilities& p) {
    constexpr int kBlockKeys = 64, kBlockSteps = kBlockKeys / Config::Layout::kStepKeys;
    TileDropout<typename Config::Layout, kBlockKeys, 1> dropout[Config::kDropoutBlocks];
    if constexpr (Config::kHasDropout) {
      const int column = first_column<Config>(machine_, params_, place);
#pragma unroll
      for (int block = 0; block < Config::kDropoutBlocks; ++block) {
        dropout[block].draw(machine_, params_, block_.batch_head(params_), first_row_,
                            column + kBlockKeys * block);
      }
    }
    Softmax softmax(machine_, scores.score, params_.scale_log2, rows_);
#pragma unroll
    for (Fragment& columns : o_) {
#pragma unroll
      for (int i = 0; i < 4; ++i) columns.element[i] *= softmax.rescale.of[0][i / 2];
    }
    float value[1][Config::kKeySteps][Config::Layout::kElements];
    softmax.exponentials(machine_, scores.score, 0, Config::kKeySteps, params_.scale_log2, value);
    rows_.add(machine_, softmax.sum);
#pragma unroll
    for (int step = 0; step < Config::kKeySteps; ++step) {
#pragma unroll
      for (int strand = 0; strand < 2; ++strand) {
        const float* const pair = value[0][step] + 2 * strand;
        std::uint32_t halves = machine_.pack_halves(pair[0], pair[1]);
        if constexpr (Config::kHasDropout) {
          halves &=
              ~dropout[step / kBlockSteps].dropped_halves(machine_, 0, step % kBlockSteps, strand);
        }
        p.of[step / 2].pair[2 * (step % 2) + strand] = halves;
      }
    }
  }

  /// O / l and the log-sum-exp to global memory, once all products are done.
  SPARK_DEVICE void write() {
    // Q's place becomes O's: no warp of the warpgroup reads Q any more. No tile is on its way, so
    // that its first barrier is free for that.
    machine_.wait_at_barrier(full_barrier<Config>(0, warpgroup_), kWarpgroupWarps);
    const auto rows = rows_.finished(machine_, 0);
    float l[2], factor[2];
    normalization<Config>(machine_, params_, rows, l, factor);
    auto& tile = tiles_.q[warpgroup_];
    const int of_warp = kWarpRows * (machine_.warp() % kWarpgroupWarps), lane = machine_.lane();
    store_accumulator(machine_, tile, of_warp, 0, factor, o_);
    machine_.sync_warp();
    const OutputRows<Config, Machine> output(machine_, params_.sparse, block_.head,
                                             block_.first_row, first_row_, params_.mask.seqlen_q);
    output.template copy<Config::kOutputSteps>(tile, of_warp, 0, params_.head_chunks,
                                               {params_.o, params_.part_o}, block_.batch,
                                               block_.head);
#pragma unroll
    for (int slot = 0; slot < 2; ++slot) {
      const float lse = machine_.fma(rows.m[slot], params_.scale, kLn2 * machine_.log2(l[slot]));
      const int row = Config::Layout::row(lane, slot);
      if ((lane & 3) != 0 || !output.is_owned(row)) continue;
      machine_.store_global((output.is_part() ? params_.part_lse : params_.lse) +
                                lse_offset(block_.batch, block_.head, output.place(row),
                                           params_.heads,
                                           output.is_part() ? params_.part_rows
                                                            : params_.mask.seqlen_q),
                            lse);
    }
  }

  SPARK_DEVICE Machine& machine() { return machine_; }
  SPARK_DEVICE int warpgroup() const { return warpgroup_; }

 private:
  SPARK_DEVICE static std::uint64_t stage_step(int stage) {
    return static_cast<std::uint64_t>(
        static_cast<std::uint32_t>(stage) *
        static_cast<std::uint32_t>(descriptor_step(sizeof(typename ForwardTiles<Config>::Stage))));
  }

  Machine& machine_;
  const ForwardParams& params_;
  ForwardTiles<Config>& tiles_;
  const ForwardBlock block_;
  const int warpgroup_, first_row_;
  const std::uint64_t q_, k_, v_;  // descriptors; of the first stage
  typename Config::Rows rows_;
  Fragment o_[Config::kOutputSteps];
};

}  // namespace sparkbench::hopper
