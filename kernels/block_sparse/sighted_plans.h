// A pattern's plan and the mask bits of its partial tiles from a device block mask
// (jit/tile_sights.h), for sparse_lists.h.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/cut_tiles.h"
#include "kernels/jit/tile_sights.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {

/// SeenTile::cover.
inline constexpr int kEmptySight = 0, kFullSight = 2;

/// A pattern's tiles from a device block mask, and the mask bits of the partial ones.
class SightedPlans {
 public:
  /// The mask must have `sights`.
  SightedPlans(const SparseMask& mask, const SparseListKind& kind)
      : pattern_(mask.pattern),
        sights_(*mask.sights),
        kind_(kind),
        shape_{kind.is_of_keys, kind.is_of_keys ? kind.step : kind.block_rows,
               kind.is_of_keys ? kind.block_rows : kind.step},
        key_tiles_(ceil_divide(mask.pattern.seqlen_k, shape_.keys)) {
    for (std::size_t head = 0; head < pattern_.unions.size(); ++head) {
      seen_.push_back(sights_.of_union(static_cast<int>(head), shape_));
      add_plan(static_cast<int>(head));
    }
  }

  /// One plan for each pattern of a head.
  const std::vector<TilePlan>& plans() const { return plans_; }

  /// The mask bits of all partial tiles. nullopt if two unlike tiles have equal sums: the host does
  /// it then.
  std::optional<std::vector<std::uint32_t>> words() const {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(next_));
    if (!sights_.write_words(shape_, firsts_, others_, words)) return std::nullopt;
    return words;
  }
  /// The tile from this row and key on, with these mask bits.
  CutTile of(int head, int first_row, int first_key, const std::vector<std::uint32_t>& words) {
    const int row_tile = first_row / shape_.rows, key_tile = first_key / shape_.keys;
    const int place = static_cast<int>(places_.at(tile(head, row_tile, key_tile).sum));
    const auto [known, is_new] = seen_of_place_.emplace(place, 0);
    if (is_new) {
      known->second =
          seen_of_words(words.data() + place, shape_.rows, shape_.keys / kSparseWordKeys);
    }
    return {place, known->second};
  }

 private:
  const SeenTile& tile(int head, int row_tile, int key_tile) const {
    return seen_[static_cast<std::size_t>(head)]
                [static_cast<std::size_t>(row_tile) * static_cast<std::size_t>(key_tiles_) +
                 static_cast<std::size_t>(key_tile)];
  }

  /// Makes spans of the blocks, and offsets for the mask bits of partial tiles, in the order of
  /// both.
  void add_plan(int head) {
    const int length = kind_.is_of_keys ? pattern_.seqlen_k : pattern_.seqlen_q;
    const int walked = kind_.is_of_keys ? pattern_.seqlen_q : pattern_.seqlen_k;
    TilePlan plan{length, walked, kind_.block_rows, kind_.step};
    plan.first_spans.push_back(0);
    for (int block = 0; block < ceil_divide(length, kind_.block_rows); ++block) {
      for (int step = 0; step < ceil_divide(walked, kind_.step); ++step) {
        const int row_tile = kind_.is_of_keys ? step : block;
        const int key_tile = kind_.is_of_keys ? block : step;
        const SeenTile& seen = tile(head, row_tile, key_tile);
        if (seen.cover == kEmptySight) continue;
        const bool is_full = seen.cover == kFullSight;
        (is_full ? plan.full_tiles : plan.cut_tiles) += 1;
        if (!is_full && kind_.only.contains(step * kind_.step)) {
          add_place(head, row_tile, key_tile, seen.sum);
        }
        add_tile(plan, step, is_full ? TileCover::kFull : TileCover::kCut);
      }
      plan.first_spans.push_back(static_cast<int>(plan.spans.size()));
    }
    plans_.push_back(std::move(plan));
  }
  static void add_tile(TilePlan& plan, int step, TileCover cover) {
    const bool is_first = static_cast<int>(plan.spans.size()) == plan.first_spans.back();
    if (!is_first && plan.spans.back().end == step && plan.spans.back().cover == cover) {
      ++plan.spans.back().end;
    } else {
      plan.spans.push_back({step, step + 1, cover});
    }
  }
  void add_place(int head, int row_tile, int key_tile, std::uint64_t sum) {
    const auto [known, is_new] = places_.emplace(sum, next_);
    (is_new ? firsts_ : others_)
        .push_back({head, {row_tile, key_tile, static_cast<int>(known->second), 0}});
    if (is_new) next_ += shape_.rows * (shape_.keys / kSparseWordKeys);
    require_room(static_cast<std::uint64_t>(next_));
  }

  const Pattern& pattern_;
  const TileSights& sights_;
  const SparseListKind& kind_;
  SightedTiles shape_;
  int key_tiles_;
  std::vector<std::vector<SeenTile>> seen_;  // of each head's pattern
  std::vector<TilePlan> plans_;
  std::int64_t next_ = 0;
  std::unordered_map<std::uint64_t, std::int64_t> places_;  // offsets of mask bits, by a tile's sum
  std::vector<TileSights::Place> firsts_, others_;
  std::unordered_map<int, std::uint32_t> seen_of_place_;
};

}  // namespace sparkbench
