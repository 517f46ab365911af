// A forward kernel for an instruction that is not Volta's, so that this folder is tested
// independently: all that m16n8k16 adds is below and in m16n8k16_layout.h. Written to be read, not
// to be fast.
//
// One block computes 64 query rows of one head, each of its four warps 16 of them:
//    1  Q to registers
//    2  for each tile of 32 keys that a row of the block sees:
//    3      K and V to shared memory
//    4      S = Q K^T                                  tensor cores
//    5      S = -inf where masked
//    6      m = rowmax(m, S); l += P = exp(S - m); P = 0 where dropped
//    7      O = rescale * O + P V                      tensor cores
//    8  O / l, log-sum-exp to global memory
#pragma once

#include "kernels/tile/dropout.h"
#include "kernels/tile/forward_block.h"
#include "kernels/tile/m16n8k16_layout.h"
#include "kernels/tile/mask.h"
#include "kernels/tile/probability_scale.h"
#include "kernels/tile/staged_rows.h"

namespace sparkbench {

template <bool kDropout>
struct TestForwardConfig {
  static constexpr bool kHasDropout = kDropout;
  using Walk = DenseWalk;
  static constexpr bool kKeepsTileOrder = true;
  static constexpr int kHeadDim = 64, kWarps = 4, kThreads = 128, kWarpRows = 16;
  static constexpr int kBlockM = kWarps * kWarpRows, kBlockN = 32;
  static constexpr int kKeySteps = kBlockN / 8, kOutputSteps = kHeadDim / 8;
  using Layout = M16n8k16Layout;
  using Fragment = Layout::Fragment;
  using Scale = PlainProbabilities;
  using Rows = LaneRows<Layout, 1, Scale>;
};

/// Rows of 64 halves, 16 bytes apart, so that the rows of a fragment are in different banks.
template <int kTileRows>
struct PaddedTile {
  static constexpr int kRows = kTileRows, kChunksPerRow = 8, kLanesPerRow = 8;
  Bits128 chunk[kRows][kChunksPerRow + 1];

  Bits128* at(int row, int column_chunk) { return &chunk[row][column_chunk]; }
  const std::uint32_t* pair(int row, int column) const {
    return reinterpret_cast<const std::uint32_t*>(&chunk[row][0]) + column / 2;
  }
};

template <class Config>
struct TestForwardTiles {
  PaddedTile<Config::kBlockN> k, v;
};

template <class Config, class Machine>
class TestForwardWarp {
  using FragmentA = m16n8k16::FragmentA;
  using FragmentB = m16n8k16::FragmentB;
  using Fragment = typename Config::Fragment;

 public:
  TestForwardWarp(Machine& machine, const ForwardParams& params)
      : machine_(machine),
        params_(params),
        tiles_(machine.template shared<TestForwardTiles<Config>>()),
        block_(locate_block<Config>(machine, params)),
        first_row_(block_.first_row + Config::kWarpRows * machine.warp()) {}

  /// Line 1.
  void load_queries() {
    for (int step = 0; step < 4; ++step) {
      for (int r = 0; r < 4; ++r) {
        const int row = first_row_ + m16n8k16::a_row(machine_.lane(), 2 * r);
        const int column = 16 * step + m16n8k16::a_column(machine_.lane(), 2 * r);
        q_[step].pair[r] = 0;
        if (row < params_.mask.seqlen_q) {
          q_[step].pair[r] = machine_.template load_global<std::uint32_t>(
              params_.q.at(block_.batch, row, block_.head) + column);
        }
      }
    }
  }
  /// Line 3.
  void stage(const ChunkedView<const Bits16>& tensor, int first_key,
             PaddedTile<Config::kBlockN>& tile) {
    StagedRows<PaddedTile<Config::kBlockN>, Config::kWarps> rows;
    rows.load(machine_, {tensor.at(block_.batch, first_key, block_.key_head(params_)),
                         tensor.row_stride(), params_.mask.seqlen_k - first_key});
    rows.store(machine_, tile);
  }

  void attend(int first_key) {
    machine_.barrier();
    stage(params_.k, first_key, tiles_.k);  // line 3
    stage(params_.v, first_key, tiles_.v);
    machine_.barrier();
    Fragment score[1][Config::kKeySteps] = {};
    multiply_keys(score[0]);  // line 4
    mask_scores<M16n8k16Layout>(score[0], params_.mask, machine_.lane(), first_row_,
                                first_key);  // line 5
    TileSoftmax<M16n8k16Layout, 1> softmax(machine_, score, params_.scale_log2, rows_);
    float p[1][Config::kKeySteps][4];
    softmax.exponentials(machine_, score, 0, Config::kKeySteps, params_.scale_log2, p);  // line 6
    rows_.add(machine_, softmax.sum);
    if constexpr (Config::kHasDropout) {
      TileDropout<M16n8k16Layout, Config::kBlockN, 1> dropout;
      dropout.draw(machine_, params_, block_.batch_head(params_), first_row_, first_key);
      dropout.drop(0, p[0]);
    }
    for (int step = 0; step < Config::kOutputSteps; ++step) {
      for (int i = 0; i < 4; ++i) o_[step].element[i] *= softmax.rescale.of[0][i / 2];
    }
    multiply_values(p[0]);  // line 7
  }

  /// Line 8.
  void write() {
    const auto rows = rows_.finished(machine_, 0);
    float l[2], factor[2];
    normalization<Config>(machine_, params_, rows, l, factor);
    for (int slot = 0; slot < 2; ++slot) {
      const int row = first_row_ + M16n8k16Layout::row(machine_.lane(), slot);
      const float lse = machine_.fma(rows.m[slot], params_.scale, kLn2 * machine_.log2(l[slot]));
      if (row >= params_.mask.seqlen_q) continue;
      for (int step = 0; step < Config::kOutputSteps; ++step) {
        const float* o = o_[step].element + 2 * slot;
        machine_.store_global(params_.o.at(block_.batch, row, block_.head) + 8 * step +
                                  m16n8k16::c_column(machine_.lane(), 0),
                              machine_.pack_halves(o[0] * factor[slot], o[1] * factor[slot]));
      }
      if ((machine_.lane() & 3) == 0) {
        machine_.store_global(params_.lse + lse_offset(block_.batch, block_.head, row,
                                                       params_.heads, params_.mask.seqlen_q),
                              lse);
      }
    }
  }

 private:
  /// S = Q K^T.
  void multiply_keys(Fragment (&score)[Config::kKeySteps]) {
    FragmentA a[4][1];
    FragmentB b[4][Config::kKeySteps];
    for (int step = 0; step < 4; ++step) {
      a[step][0] = q_[step];
      for (int n = 0; n < Config::kKeySteps; ++n) {
        for (int r = 0; r < 2; ++r) {
          b[step][n].pair[r] = machine_.template load_shared<std::uint32_t>(
              tiles_.k.pair(8 * n + m16n8k16::b_column(machine_.lane()),
                            16 * step + m16n8k16::b_row(machine_.lane(), 2 * r)));
        }
      }
    }
    Fragment* const c[1] = {score};
    machine_.template mma_m16n8k16_outer<Operand::kA>(c, a, b);
  }
  /// O += P V: the accumulators of two steps of keys are an operand of the next product.
  void multiply_values(const float (&p)[Config::kKeySteps][4]) {
    constexpr int kSteps = Config::kBlockN / 16;
    FragmentA a[kSteps][1];
    FragmentB b[kSteps][Config::kOutputSteps];
    for (int step = 0; step < kSteps; ++step) {
      for (int r = 0; r < 4; ++r) {
        const float* of = p[2 * step + r / 2] + 2 * (r % 2);
        a[step][0].pair[r] = machine_.pack_halves(of[0], of[1]);
      }
      for (int n = 0; n < Config::kOutputSteps; ++n) {
        for (int r = 0; r < 2; ++r) {
          const int key = 16 * step + m16n8k16::b_row(machine_.lane(), 2 * r);
          b[step][n].pair[r] = column_pair(key, 8 * n + m16n8k16::b_column(machine_.lane()));
        }
      }
    }
    Fragment* const c[1] = {o_};
    machine_.template mma_m16n8k16_outer<Operand::kA>(c, a, b);
  }
  /// V of two keys, of one column.
  std::uint32_t column_pair(int key, int column) {
    const int shift = 16 * (column & 1);
    const auto first = machine_.template load_shared<std::uint32_t>(tiles_.v.pair(key, column));
    const auto second =
        machine_.template load_shared<std::uint32_t>(tiles_.v.pair(key + 1, column));
    return ((first >> shift) & 0xffffu) | (second >> shift) << 16;
  }

  Machine& machine_;
  const ForwardParams& params_;
  TestForwardTiles<Config>& tiles_;
  const ForwardBlock block_;
  const int first_row_;
  FragmentA q_[4];
  typename Config::Rows rows_;
  Fragment o_[Config::kOutputSteps] = {};
};

template <class Config, class Machine>
void test_forward(Machine& machine, const ForwardParams& params) {
  TestForwardWarp<Config, Machine> warp(machine, params);
  warp.load_queries();  // line 1
  const Range keys = keys_of_block<Config>(machine, params);
  for (int first_key = first_tile<Config::kBlockN>(keys); first_key < keys.end;
       first_key = next_tile<Config::kBlockN>(keys, first_key)) {  // line 2
    warp.attend(first_key);
  }
  warp.write();  // line 8
}

}  // namespace sparkbench
