// The statistics of a pattern's queries where blocks hand dQ on (relay_statistics.h has those of
// masks): a block prepares them of those of its tiles whose queries no block before it sees
// (SparseTile::seen). Of the others, blocks have that were launched before it.
#pragma once

#include "kernels/volta/backward/query_statistics.h"
#include "kernels/volta/backward/tiles_of_warp.h"

namespace sparkbench::volta {

/// A warp's share of them, of each head that reads the block's keys.
template <class Config, class Machine>
class TileStatistics {
  using Tiles = TilesOfWarp<Config, Machine>;
  using Look = typename Tiles::Look;

 public:
  SPARK_DEVICE TileStatistics(Machine& machine, const BackwardParams& params,
                              const BackwardBlock& block)
      : machine_(machine),
        params_(params),
        batch_(block.batch),
        tiles_(machine, params),
        first_look_(tiles_.look(0, 0)) {}

  /// Publishes its own, of all heads, then waits until the others are there. A barrier must follow.
  SPARK_DEVICE void prepare() {
    for_each_look([&](int member, const Look& look) {
#pragma unroll 1
      for (std::uint32_t left = machine_.ballot(look.is_first()); left != 0; left &= left - 1) {
        publish(member, tiles_.row(look, machine_.lowest_bit(left)));
      }
    });
    for_each_look([&](int member, const Look& look) {
      const std::uint32_t following = machine_.ballot(look.follows());
#pragma unroll 1
      for (int i = 0; i < kLanes && following >> i != 0; i += kTilesAtOnce) {
        await(member, look, i + machine_.lane() / kPairsOfGroup, following);
      }
    });
    machine_.acquire_published();
  }

 private:
  /// Where a warp looks for those of others, a lane does for two queries.
  static constexpr int kLanes = 32, kPair = 2, kPairsOfGroup = kGridRows / kPair;
  static constexpr int kTilesAtOnce = kLanes / kPairsOfGroup;

  template <class Visit>
  SPARK_DEVICE void for_each_look(Visit visit) {
    Look look = first_look_;
#pragma unroll 1
    for (int member = 0;;) {
      visit(member, look);
      int first = look.first + Tiles::kTilesOfLook;
      if (first >= look.tiles) {
        first = 0;
        if (++member == params_.groups.size) return;
      }
      look = tiles_.look(member, first);
    }
  }
  /// For the lane's queries of a tile of the look, if it is one of those that `following` tells.
  SPARK_DEVICE void await(int member, const Look& look, int tile, std::uint32_t following) {
    const int row = tiles_.row(look, tile) + kPair * (machine_.lane() % kPairsOfGroup);
    const RowStatistics* const statistics = statistics_of(member, row);
    const bool waits =
        (following >> tile & 1) != 0 && !is_published(machine_.look_for_published(statistics));
    machine_.await_published(statistics, waits);
  }
  SPARK_DEVICE void publish(int member, int row) {
    const RowOrder& order = params_.query_order;
    OrderedRows ordered{};
    if (order.tiles != nullptr) ordered = ordered_rows(machine_, order, row);
    StagedStatistics<Config> staged;
    staged.load(
        machine_, params_, batch_, tiles_.head(member),
        [&](int i) {
          return order.tiles != nullptr ? ordered.owns(i) : row + i < params_.mask.seqlen_q;
        },
        [&](int i) {
          return order.tiles != nullptr ? ordered.token + order.template tokens_to<4>(i) : row + i;
        });
    RowStatistics* const statistics = statistics_of(member, row);
    staged.finish(machine_, params_,
                  [&](int at, const Bits64& bits) { machine_.publish(statistics + at, bits); });
  }
  SPARK_DEVICE RowStatistics* statistics_of(int member, int row) const {
    const auto head = static_cast<std::uint32_t>(batch_ * params_.heads + tiles_.head(member));
    return params_.workspace.statistics_of(head, row);
  }

  Machine& machine_;
  const BackwardParams& params_;
  int batch_;
  Tiles tiles_;
  Look first_look_;
};

}  // namespace sparkbench::volta
