#include "kernels/block_sparse/relayed_keys.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/list_plans.h"
#include "kernels/mask/pattern/work_items.h"

namespace sparkbench {
namespace {

/// Whether a row of a step is a token: of an order not all need be. Blocks are of keys, and walk
/// the transposed pattern.
bool has_tokens(const Pattern& walked, int first_row, int step) {
  const auto& order = walked.key_order;
  if (order == nullptr) return true;
  for (int row = first_row; row < std::min(first_row + step, walked.seqlen_k); ++row) {
    if (order->owns(row)) return true;
  }
  return false;
}

/// Of one union's blocks, as blocks_in_relay() has them, each on an SM of its own. A step takes
/// each block as long, and a block that finds the one before it at a step waits until that is done.
RelayOfKeys relay_of_union(const TilePlan& plan, const Pattern& walked,
                           const SparseListKind& kind) {
  RelayOfKeys relay;
  const int step = kind.step;
  std::vector<int> done(static_cast<std::size_t>(ceil_divide(plan.seqlen_k, plan.keys)));
  for (const int block : blocks_in_relay(walked, kind.block_rows)) {
    int now = 0, tiles = 0, first = 0;
    for (const Span& span : plan.spans_of(block)) {
      for (int tile = span.begin; tile < span.end; ++tile) {
        int& of_step = done[static_cast<std::size_t>(tile)];
        first += of_step == 0 ? 1 : 0;
        now = of_step = std::max(now, of_step) + 1;
      }
      tiles += span.tiles();
    }
    relay.most_waits = std::max(relay.most_waits, now - tiles);
    relay.most_first = std::max(relay.most_first, first);
    relay.tiles += tiles;
  }
  relay.reaches_all_rows = true;
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (done[i] == 0 && has_tokens(walked, static_cast<int>(i) * step, step)) {
      relay.reaches_all_rows = false;
    }
  }
  return relay;
}

RelayOfKeys relay_of(const SparseMask& mask, const SparseListKind& kind, int most_keys) {
  const std::vector<TilePlan> plans = plans_of(mask, kind);
  for (const TilePlan& plan : plans) {
    const auto tiles = static_cast<std::int64_t>(plan.tiles());
    if (tiles * kind.step * kind.block_rows > std::int64_t{most_keys} * plan.seqlen_k) {
      return {.reaches_all_rows = false, .tiles = tiles};
    }
  }
  RelayOfKeys all{.reaches_all_rows = true};
  if (may_be_split(mask.walked())) {
    const std::vector<int> parts = parts_of_row_tiles(plans);
    all.splits_blocks = std::any_of(parts.begin(), parts.end(), [](int of) { return of > 1; });
  }
  const Pattern walked = walked_by(mask, kind);
  for (const TilePlan& plan : plans) {
    const RelayOfKeys relay = relay_of_union(plan, walked, kind);
    all.reaches_all_rows = all.reaches_all_rows && relay.reaches_all_rows;
    all.most_waits = std::max(all.most_waits, relay.most_waits);
    all.most_first = std::max(all.most_first, relay.most_first);
    all.tiles = std::max(all.tiles, relay.tiles);
  }
  return all;
}

}  // namespace

RelayOfKeys relay_of_keys(const SparseMask& mask, const SparseListKind& kind, int most_keys) {
  return mask.plan_facts->relay({kind.is_of_keys, kind.block_rows, kind.step},
                                [&] { return relay_of(mask, kind, most_keys); });
}

}  // namespace sparkbench
