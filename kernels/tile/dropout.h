// The dropout mask (kernels/problem/dropout.h) in registers: a word for 16 rows and 64 keys of a
// lane's scores, and how it is applied to them.
//
// Element n of strand s of a step (layout.h), of key
//   first key + 8 i + 2 * pair(lane, s) + e,  e = 0 or 1,
// is bit 16 s + 8 e + i of the word, set if the element is dropped. For 32 or 16 keys the word is
// shifted, so that i counts from the first of them.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/tile/dropout_offset.h"
#include "kernels/tile/layout.h"

namespace sparkbench {

/// The byte permutation that packs a pair of probabilities (pack_scaled_halves) with nothing
/// dropped.
inline constexpr std::uint32_t kUpperHalves = 0x7632;

/// Which of a lane's scores of kGroups groups of 16 rows, kApart rows apart, are dropped, for kKeys
/// keys.
template <class Layout, int kKeys, int kGroups, int kApart = 16>
struct TileDropout {
  static_assert(kKeys == 64 || kKeys == 32 || kKeys == 16, "a block has 64 keys of a row");
  static_assert(Layout::kStrands == 2, "a word has two strands of 16 elements");
  static_assert(Layout::kOtherRowLane == 0 || kGroups <= 2, "two lanes share so many blocks");

  /// One word a group. Before share(): the blocks that this lane draws for itself and for the lane
  /// with the rows 8 below or above its own.
  std::uint32_t word[kGroups];

  /// Draws block b of kGroups, for the rows from first_row on. Loads the dropout offset from
  /// `params` for each half of the draw, for kernels without a register to keep it in.
  template <class Machine, class Params>
  SPARK_DEVICE void draw_block(Machine& machine, const Params& params, std::uint32_t batch_head,
                               int first_row, int first_key, int b) {
    const auto offset = [&] { return dropout_offset_anew(machine, params); };
    draw_block(params.dropout, offset, machine.lane(), batch_head, first_row, first_key, b);
  }

  /// Call it once all blocks are drawn: it gives each group its word. All lanes of the warp call it
  /// together.
  template <class Machine>
  SPARK_DEVICE void share(Machine& machine, int first_key) {
    if constexpr (Layout::kOtherRowLane != 0) exchange(machine);
    if constexpr (kKeys < 64) {
      constexpr int kPlaces = 8 - kKeys / 8;  // position of the first key among the 8 i of 64
#pragma unroll
      for (std::uint32_t& of_group : word) of_group >>= first_key >> 3 & kPlaces;
    }
  }

  /// All blocks, by an offset that was loaded before.
  template <class Machine>
  SPARK_DEVICE void draw(Machine& machine, const Dropout& dropout, const DropoutOffset& loaded,
                         std::uint32_t batch_head, int first_row, int first_key) {
    const auto offset = [&] { return loaded; };
#pragma unroll
    for (int b = 0; b < kGroups; ++b) {
      draw_block(dropout, offset, machine.lane(), batch_head, first_row, first_key, b);
    }
    share(machine, first_key);
  }

  /// The same, with one load of the offset.
  template <class Machine, class Params>
  SPARK_DEVICE void draw(Machine& machine, const Params& params, std::uint32_t batch_head,
                         int first_row, int first_key) {
    draw(machine, params.dropout, dropout_offset(machine, params), batch_head, first_row,
         first_key);
  }

  /// Zeroes the dropped elements of a group.
  template <int kSteps>
  SPARK_DEVICE void drop(int group, float (&value)[kSteps][Layout::kElements]) const {
    static_assert(kSteps * Layout::kStepKeys == kKeys, "the steps are those that were drawn");
#pragma unroll
    for (int strand = 0; strand < Layout::kStrands; ++strand) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
#pragma unroll
        for (int n = 0; n < Layout::kStrandElements; ++n) {
          const int key = Layout::kStepKeys * step + Layout::key(n);
          const int bit = 16 * strand + 8 * (key & 1) + (key >> 3);
          if ((word[group] & 1u << bit) != 0) value[step][Layout::element(strand, n)] = 0.0f;
        }
      }
    }
  }

  /// For the pair of keys 8 i + 2 * pair + {0, 1} of a strand, as halves: all bits of those that
  /// are dropped. Moves a bit of each to where a permutation takes it for a sign.
  template <class Machine>
  SPARK_DEVICE std::uint32_t dropped_halves(const Machine& machine, int group, int i,
                                            int strand) const {
    return machine.permute(
        word[group] << (7 - i), 0u,
        SPARK_PLANTED(kDropoutStrandsSwapped, strand == 0, strand != 0) ? 0x9988u : 0xbbaau);
  }

  /// The byte permutation that packs the pair of keys 8 i + 2 * pair + {0, 1} of a strand
  /// (pack_scaled_halves), in the lower 16 bits. It selects bytes 2 and 3 of a number, or, if it is
  /// dropped, twice the sign of byte 3, which is 0. One multiplication makes the selectors of both
  /// strands.
  SPARK_DEVICE std::uint32_t selector(int group, int i, int strand) const {
    constexpr std::uint32_t kDropped = 0x89;  // makes 2 and 3 to 0xb, 6 and 7 to 0xf
    constexpr std::uint64_t kKept = std::uint64_t{kUpperHalves} << 32 | kUpperHalves << 16;
    const std::uint32_t dropped = word[group] & 0x01010101u << i;
    const std::uint64_t both = std::uint64_t{dropped} * (kDropped << (16 - i)) + kKept;
    return static_cast<std::uint32_t>(both >> (strand == 0 ? 16 : 32));
  }

 private:
  template <class Offset>
  SPARK_DEVICE void draw_block(const Dropout& dropout, const Offset& offset, int lane,
                               std::uint32_t batch_head, int first_row, int first_key, int b) {
    const int half = row_half(lane);
    // Its group, and its strand. A lane with both rows of a block finds them in strands 0 and 1.
    const int group = Layout::kOtherRowLane == 0 ? b : kGroups == 2 ? half : 0;
    const int strand = Layout::kOtherRowLane == 0 ? 0 : kGroups == 2 ? b : half;
    const auto row =
        static_cast<std::uint32_t>(SPARK_PLANTED(kDropoutOfOtherRows, first_row, first_row + 16) +
                                   kApart * group + (Layout::row(lane, Layout::slot(strand)) & 7));
    const auto first_column =
        SPARK_PLANTED(kDropoutOfFirstColumns, static_cast<std::uint32_t>(first_key) & ~63u, 0u);
    const auto pair = static_cast<std::uint32_t>(Layout::pair(lane, strand));
    const DropoutBlock block{row, first_column | 2u * pair};
    word[b] = 0u;
#pragma unroll
    for (std::uint32_t call = 0; call < 2; ++call) {
      const PhiloxBlock planes = dropout_planes(dropout, offset(), batch_head, block, call);
      word[b] = bytes_below(dropout, planes, call == 0 ? 0 : 4, word[b]);
    }
  }

  SPARK_DEVICE static int row_half(int lane) {
    return Layout::kOtherRowLane == 0 ? 0 : (lane & Layout::kOtherRowLane) != 0;
  }

  /// A block's lower half is its first row's. With one group, the lane of the first rows has drawn
  /// strand 0 of both rows, the other lane strand 1. With two, each has drawn both strands of one.
  template <class Machine>
  SPARK_DEVICE void exchange(Machine& machine) {
    const bool is_second = row_half(machine.lane()) != 0;
    if constexpr (kGroups == 1) {
      const std::uint32_t received = machine.shuffle_xor(word[0], Layout::kOtherRowLane);
      word[0] = machine.permute(word[0], received, is_second ? 0x3276 : 0x5410);
    } else {
      const std::uint32_t lower = machine.permute(word[0], word[1], 0x5410);
      const std::uint32_t upper = machine.permute(word[0], word[1], 0x7632);
      const std::uint32_t kept = is_second ? upper : lower;
      const std::uint32_t received =
          machine.shuffle_xor(is_second ? lower : upper, Layout::kOtherRowLane);
      word[0] = is_second ? received : kept;
      word[1] = is_second ? kept : received;
    }
  }
};

}  // namespace sparkbench
