#include "kernels/block_sparse/sparse_lists.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kernels/base/ceil_divide.h"
#include "kernels/base/round_up.h"
#include "kernels/block_sparse/cut_tiles.h"
#include "kernels/block_sparse/list_plans.h"
#include "kernels/block_sparse/sighted_plans.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/pattern/tile_plan.h"
#include "kernels/mask/pattern/work_items.h"

namespace sparkbench {
namespace {

/// The bits of a full tile: of warps with rows, both halves.
std::uint32_t all_seen(int rows) {
  const int warps = ceil_divide(rows, kWarpRowsOfList);
  return warps >= 16 ? ~0u : (1u << (2 * warps)) - 1u;
}

std::vector<int> parts_of(const std::vector<TilePlan>& plans, const SparseListKind& kind) {
  if (kind.splits) return parts_of_row_tiles(plans);
  return std::vector<int>(static_cast<std::size_t>(plans.front().row_tiles()), 1);
}

/// The rows that splits store.
int rows_of(const std::vector<int>& parts, const SparseListKind& kind) {
  std::int64_t stored = 0;
  for (const int of_block : parts) {
    if (of_block > 1) stored += std::int64_t{of_block} * kind.block_rows;
  }
  if (stored > std::numeric_limits<int>::max()) {
    throw std::invalid_argument("the pattern has more than 2^31 rows that are stored in parts");
  }
  return static_cast<int>(stored);
}

}  // namespace

int rows_of_parts(const SparseMask& mask, const SparseListKind& kind) {
  if (!kind.splits) return 0;
  return mask.plan_facts->split_rows({kind.is_of_keys, kind.block_rows, kind.step}, [&] {
    return rows_of(parts_of(plans_of(mask, kind), kind), kind);
  });
}

SparseTileLists::SparseTileLists(const SparseMask& mask, const SparseListKind& kind)
    : unions_(static_cast<int>(mask.pattern.unions.size())) {
  const Pattern pattern = walked_by(mask, kind);
  std::optional<SightedPlans> sighted;
  if (mask.sights != nullptr) {
    sighted.emplace(mask, kind);
    if (auto words = sighted->words()) {
      words_ = *std::move(words);
    } else {
      sighted.reset();
    }
  }
  const std::vector<TilePlan> plans = sighted ? sighted->plans() : plans_of(pattern, kind);
  const std::vector<int> parts = parts_of(plans, kind);
  part_rows_ = rows_of(parts, kind);
  blocks_of_head_ = std::accumulate(parts.begin(), parts.end(), 0);
  CutTiles cut(mask.pattern, kind, words_);
  const auto cut_of = [&](int head, int row, int key) {
    return sighted ? sighted->of(head, row, key, words_) : cut.of(head, row, key);
  };
  std::vector<SparseTile> of_block;
  for (int head = 0; head < unions_; ++head) {
    int part_row = 0;
    for (std::size_t block = 0; block < parts.size(); ++block) {
      const int first_row = static_cast<int>(block) * kind.block_rows;
      const int rows = std::min(kind.block_rows, pattern.seqlen_q - first_row);
      of_block.clear();
      for (const Span& span :
           plans[static_cast<std::size_t>(head)].spans_of(static_cast<int>(block))) {
        for (int tile = span.begin; tile < span.end; ++tile) {
          const int first = tile * kind.step;
          if (!kind.only.contains(first)) continue;
          if (span.cover == TileCover::kFull) {
            of_block.push_back({first, all_seen(rows), 0, 0});
            continue;
          }
          const CutTile tile_of =
              kind.is_of_keys ? cut_of(head, first, first_row) : cut_of(head, first_row, first);
          of_block.push_back(
              {first + kCutTile, kind.is_of_keys ? 0 : tile_of.seen, tile_of.words, 0});
        }
      }
      const bool is_split = parts[block] > 1;
      if (is_split && head == 0) splits_.push_back({first_row, part_row, parts[block], 0});
      for (int part = 0; part < parts[block]; ++part) {
        add_block({first_row, part, parts[block], is_split ? part_row : kNoPart}, of_block,
                  round_up(pattern.seqlen_k, kind.step));
        if (is_split) part_row += kind.block_rows;
      }
    }
  }
  put_in_order(longest_first());
}

void SparseTileLists::add_block(const Part& part, const std::vector<SparseTile>& of_block,
                                int behind_last) {
  const auto place = [&](int i) {
    return static_cast<std::ptrdiff_t>(of_block.size()) * i / part.parts;
  };
  const auto first_tile = static_cast<int>(tiles_.size());
  tiles_.insert(tiles_.end(), of_block.begin() + place(part.index),
                of_block.begin() + place(part.index + 1));
  blocks_.push_back({part.first_row, first_tile, static_cast<int>(tiles_.size()) - first_tile,
                     part.first_part_row});
  // Each of a block's tiles prefetches the next one, with two teams the one after it, and a loop
  // may still read on past the last tile.
  tiles_.insert(tiles_.end(), 2, {behind_last, 0, 0, 0});
}

/// By the tiles of all unions together: what a block of keys has of one head and of the next is of
/// the same keys.
std::vector<int> SparseTileLists::longest_first() const {
  std::vector<int> tiles(static_cast<std::size_t>(blocks_of_head_)), order(tiles.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < blocks_.size(); ++i) tiles[i % tiles.size()] += blocks_[i].tiles;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return tiles[static_cast<std::size_t>(a)] > tiles[static_cast<std::size_t>(b)];
  });
  return order;
}

void SparseTileLists::put_in_order(const std::vector<int>& order) {
  std::vector<SparseBlock> sorted;
  sorted.reserve(blocks_.size());
  for (int head = 0; head < unions_; ++head) {
    for (const int index : order) sorted.push_back(block(head, index));
  }
  blocks_ = std::move(sorted);
}

void SparseTileLists::write(std::byte* to) const {
  const auto put = [to](std::size_t begin, const auto& list) {
    if (!list.empty()) std::memcpy(to + begin, list.data(), sizeof(list[0]) * list.size());
  };
  put(0, blocks_);
  put(tiles_begin(), tiles_);
  put(splits_begin(), splits_);
  put(words_begin(), words_);
}

const SparseSplit* SparseTileLists::splits_at(const void* memory) const {
  return reinterpret_cast<const SparseSplit*>(static_cast<const std::byte*>(memory) +
                                              splits_begin());
}

SparseLists SparseTileLists::at(const void* memory) const {
  const auto* const bytes = static_cast<const std::byte*>(memory);
  return at(reinterpret_cast<const SparseBlock*>(bytes),
            reinterpret_cast<const SparseTile*>(bytes + tiles_begin()),
            reinterpret_cast<const std::uint32_t*>(bytes + words_begin()));
}

}  // namespace sparkbench
