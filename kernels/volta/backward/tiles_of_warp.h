// The tiles of a pattern's block of keys, as its warps share them out where they do not walk them:
// each has 16 queries of some.
#pragma once

#include <cstdint>

#include "kernels/tile/sparse_list.h"
#include "kernels/volta/backward/block.h"

namespace sparkbench::volta {

/// Of each head that reads the keys a warp has every kAtOnce-th tile. It looks at many at once, a
/// lane at one: a *look*.
template <class Config, class Machine>
class TilesOfWarp {
 public:
  static constexpr int kAtOnce = Config::kWarps / kRowGroups;
  static constexpr int kTilesOfLook = 32 * kAtOnce;
  static_assert(kAtOnce * kRowGroups == Config::kWarps, "a warp has half of a tile");

  /// What a lane has of a look: its tile's numbers.
  struct Look {
    int first;  // of the block's tiles
    int tiles;  // that it has
    int step;   // SparseTile::step; where there is no tile, -1
    std::uint32_t seen;

    SPARK_DEVICE bool is_first() const { return step >= 0 && turns_before(seen) == 0; }
    SPARK_DEVICE bool follows() const { return step >= 0 && turns_before(seen) != 0; }
    SPARK_DEVICE bool is_last() const { return step >= 0 && is_last_turn(seen); }
  };

  SPARK_DEVICE TilesOfWarp(Machine& machine, const BackwardParams& params)
      : machine_(machine), params_(params) {}

  SPARK_DEVICE int head(int member) const {
    return machine_.block(0) * params_.groups.size + member;
  }
  /// The look from the block's tile `first` on.
  SPARK_DEVICE Look look(int member, int first) const {
    const auto block = machine_.template load_global<Bits128>(
        params_.sparse_keys.block(head(member), machine_.block(1)));
    const int first_tile = static_cast<int>(block.word[1]);
    Look look{first, static_cast<int>(block.word[2]), -1, 0};
    const int i = first + kAtOnce * machine_.lane() + machine_.warp() / kRowGroups;
    if (i < look.tiles) {
      const auto tile =
          machine_.template load_global<Bits128>(params_.sparse_keys.tiles + (first_tile + i));
      look.seen = tile.word[1];
      look.step = static_cast<int>(tile.word[3]);
    }
    return look;
  }
  /// Of lane i's tile SparseTile::seen, and the warp's first query in the pattern's order. By all
  /// lanes.
  SPARK_DEVICE std::uint32_t seen(const Look& look, int i) const {
    return static_cast<std::uint32_t>(
        machine_.template shuffle_among<31>(static_cast<int>(look.seen), i));
  }
  SPARK_DEVICE int row(const Look& look, int i) const {
    const int step = machine_.template shuffle_among<31>(look.step, i);
    return first_of_step(step) + kGridRows * (machine_.warp() % kRowGroups);
  }

 private:
  Machine& machine_;
  const BackwardParams& params_;
};

}  // namespace sparkbench::volta
