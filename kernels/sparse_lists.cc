#include "kernels/sparse_lists.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "kernels/ceil_divide.h"
#include "kernels/jit/tile_sights.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/pattern/tile_plan.h"
#include "kernels/mask/pattern/work_items.h"
#include "kernels/round_up.h"

namespace sparkbench {
namespace {

constexpr int kWarpRowsOfList = 32;

void require_room(std::uint64_t words) {
  if (words <= std::numeric_limits<int>::max()) return;
  throw std::invalid_argument("the pattern has more than 2^31 words of cut tiles");
}

/// Where a tile's first row and first key stand.
struct TilePosition {
  int row, key;
};

/// What a closed form shows of a tile, in numbers that are the same for tiles which show the same:
/// the zone as it lies in the tile, and where the tile lies in a grid.
class TileSignature {
 public:
  TileSignature(const Pattern& pattern, int rows, int keys)
      : pattern_(pattern), rows_(rows), keys_(keys) {}

  /// Nothing where arrays or bits say it, or a grid that is not the same everywhere.
  bool make(int head, int first_row, int first_key) {
    numbers_.clear();
    const TilePosition at = {first_row + pattern_.row_at, first_key + pattern_.key_at};
    add(head % static_cast<int>(pattern_.unions.size()));
    add(std::min(rows_, pattern_.seqlen_q - first_row));
    add(std::min(keys_, pattern_.seqlen_k - first_key));
    for (const Term& term : pattern_.terms(head)) {
      if (!term.is_closed_form() || term.hidden_by != 0 || !add_grid(term.grid, at)) return false;
      add_zone(term.flat, at);
    }
    return true;
  }
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(numbers_.data()), numbers_.size() * sizeof(int)};
  }

 private:
  void add(int number) { numbers_.push_back(number); }
  void add_zone(const Zone& zone, const TilePosition& at) {
    const auto row = [&](int q) { add(std::clamp(q - at.row, 0, rows_)); };
    const auto key = [&](int k) { add(std::clamp(k - at.key, 0, keys_)); };
    const auto offset = [&](int d) { add(std::clamp(d - (at.key - at.row), -rows_, keys_)); };
    row(zone.q0);
    row(zone.q1);
    key(zone.k0);
    key(zone.k1);
    offset(zone.d0);
    offset(zone.d1);
  }
  /// The outermost axis has no ends, so that a tile shows what one of as many lines further shows,
  /// unless its zone has bounds of its own.
  bool add_grid(const Grid& grid, const TilePosition& at) {
    if (grid.axes == 0) return true;
    const Zone& outer = grid.zone[0];
    if (grid.clamp != Clamp::kNone || outer != zone_of_offsets(outer.d0, outer.d1)) return false;
    int line = 1;
    for (int axis = 1; axis < grid.axes; ++axis) line *= grid.extent[axis];
    const int row_line = floor_divide(at.row, line), key_line = floor_divide(at.key, line);
    add(at.row - row_line * line);
    add(at.key - key_line * line);
    add(key_line - row_line);
    return true;
  }

  const Pattern& pattern_;
  int rows_, keys_;
  std::vector<int> numbers_;
};

/// SparseTile::seen of a tile of these words.
std::uint32_t seen_of_words(const std::uint32_t* words, int rows, int halves) {
  std::uint32_t seen = 0;
  for (int row = 0; row < rows; ++row) {
    for (int half = 0; half < halves; ++half) {
      seen |= static_cast<std::uint32_t>(*words++ != 0) << (2 * (row / kWarpRowsOfList) + half);
    }
  }
  return seen;
}

/// What is kept of a cut tile.
struct CutTile {
  int words;           // where they begin
  std::uint32_t seen;  // SparseTile::seen
};

/// The words of cut tiles, each kind of tile once.
class CutTiles {
 public:
  CutTiles(const Pattern& pattern, const SparseListKind& kind, std::vector<std::uint32_t>& words)
      : pattern_(pattern),
        rows_(kind.is_of_keys ? kind.step : kind.block_rows),
        keys_(kind.is_of_keys ? kind.block_rows : kind.step),
        words_(words),
        signature_(pattern, rows_, keys_) {}

  /// Of the tile from this row and key on.
  CutTile of(int head, int first_row, int first_key) {
    if (!signature_.make(head, first_row, first_key)) return made(head, first_row, first_key);
    const auto known = by_signature_.find(signature_.bytes());
    if (known != by_signature_.end()) return known->second;
    const std::string signature(signature_.bytes());
    return by_signature_.emplace(signature, made(head, first_row, first_key)).first->second;
  }

 private:
  /// A hash that takes both, so that what is looked up is no copy.
  struct HashOfBytes {
    using is_transparent = void;
    std::size_t operator()(std::string_view bytes) const {
      return std::hash<std::string_view>{}(bytes);
    }
  };

  CutTile made(int head, int first_row, int first_key) {
    const auto row_words = static_cast<std::size_t>(keys_ / kSparseWordKeys);
    own_.assign(static_cast<std::size_t>(rows_) * row_words, 0u);
    const int rows = std::min(rows_, pattern_.seqlen_q - first_row);
    for (int row = 0; row < rows; ++row) {
      for (int key = 0; key < keys_; key += kWordKeys) {
        const std::uint64_t word = key_word(pattern_, head, first_row + row, first_key + key);
        const std::size_t at = static_cast<std::size_t>(row) * row_words +
                               static_cast<std::size_t>(key / kSparseWordKeys);
        own_[at] = static_cast<std::uint32_t>(word);
        if (key + kSparseWordKeys < keys_) own_[at + 1] = static_cast<std::uint32_t>(word >> 32);
      }
    }
    return {kept(), seen()};
  }
  std::uint32_t seen() const { return seen_of_words(own_.data(), rows_, keys_ / kSparseWordKeys); }
  int kept() {
    const std::string_view bytes(reinterpret_cast<const char*>(own_.data()),
                                 own_.size() * sizeof(std::uint32_t));
    auto& same = places_[std::hash<std::string_view>{}(bytes)];
    for (const int place : same) {
      if (std::equal(own_.begin(), own_.end(), words_.begin() + place)) return place;
    }
    require_room(words_.size() + own_.size());
    const auto place = static_cast<int>(words_.size());
    words_.insert(words_.end(), own_.begin(), own_.end());
    same.push_back(place);
    return place;
  }

  const Pattern& pattern_;
  int rows_, keys_;
  std::vector<std::uint32_t>& words_;
  std::vector<std::uint32_t> own_;
  std::unordered_map<std::size_t, std::vector<int>> places_;
  TileSignature signature_;
  std::unordered_map<std::string, CutTile, HashOfBytes, std::equal_to<>> by_signature_;
};

/// SeenTile::cover.
constexpr int kEmptySight = 0, kFullSight = 2;

/// A pattern's tiles as its sights tell them, and the words of those that are cut.
class SightedPlans {
 public:
  /// Adds to `words`, which is empty.
  SightedPlans(const SparseMask& mask, const SparseListKind& kind,
               std::vector<std::uint32_t>& words)
      : pattern_(mask.pattern),
        kind_(kind),
        shape_{kind.is_of_keys, kind.is_of_keys ? kind.step : kind.block_rows,
               kind.is_of_keys ? kind.block_rows : kind.step},
        key_tiles_(ceil_divide(mask.pattern.seqlen_k, shape_.keys)),
        words_(words) {
    for (std::size_t head = 0; head < pattern_.unions.size(); ++head) {
      seen_.push_back(mask.sights->of_union(static_cast<int>(head), shape_));
      add_plan(static_cast<int>(head));
    }
    words_.resize(static_cast<std::size_t>(next_));
    has_all_words_ = mask.sights->write_words(shape_, firsts_, others_, words_);
    if (!has_all_words_) words_.clear();
  }

  /// False where two unlike tiles have one sum: then the host looks.
  bool has_all_words() const { return has_all_words_; }
  const TilePlan& plan(int head) const { return plans_[static_cast<std::size_t>(head)]; }
  /// Of the tile from this row and key on.
  CutTile of(int head, int first_row, int first_key) {
    const int row_tile = first_row / shape_.rows, key_tile = first_key / shape_.keys;
    const int place = static_cast<int>(places_.at(tile(head, row_tile, key_tile).sum));
    const auto [known, is_new] = seen_of_place_.emplace(place, 0);
    if (is_new) {
      known->second =
          seen_of_words(words_.data() + place, shape_.rows, shape_.keys / kSparseWordKeys);
    }
    return {place, known->second};
  }

 private:
  const SeenTile& tile(int head, int row_tile, int key_tile) const {
    return seen_[static_cast<std::size_t>(head)]
                [static_cast<std::size_t>(row_tile) * static_cast<std::size_t>(key_tiles_) +
                 static_cast<std::size_t>(key_tile)];
  }

  /// Spans of the blocks, and places for the words of cut tiles, in the order of both.
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
  const SparseListKind& kind_;
  SightedTiles shape_;
  int key_tiles_;
  std::vector<std::uint32_t>& words_;
  std::vector<std::vector<SeenTile>> seen_;  // of each union
  std::vector<TilePlan> plans_;
  std::int64_t next_ = 0;
  std::unordered_map<std::uint64_t, std::int64_t> places_;  // by their sums
  std::vector<TileSights::Place> firsts_, others_;
  std::unordered_map<int, std::uint32_t> seen_of_place_;
  bool has_all_words_ = false;
};

/// The bits of a full tile: of warps with rows, both halves.
std::uint32_t all_seen(int rows) {
  const int warps = ceil_divide(rows, kWarpRowsOfList);
  return warps >= 16 ? ~0u : (1u << (2 * warps)) - 1u;
}

/// Of each union, the plan of the blocks.
std::vector<TilePlan> plans_of(const Pattern& walked, const SparseListKind& kind) {
  std::vector<TilePlan> plans;
  for (std::size_t i = 0; i < walked.unions.size(); ++i) {
    plans.push_back(plan(walked, static_cast<int>(i), kind.block_rows, kind.step));
  }
  return plans;
}

std::vector<int> parts_of(const Pattern& pattern, const std::vector<TilePlan>& plans,
                          const SparseListKind& kind) {
  if (kind.splits && may_be_split(pattern)) return parts_of_row_tiles(plans);
  return std::vector<int>(static_cast<std::size_t>(plans.front().row_tiles()), 1);
}

RowsOfParts rows_of(const std::vector<int>& parts, const SparseListKind& kind) {
  std::int64_t shared = 0, stored = 0;
  for (const int of_block : parts) {
    if (of_block == 1) continue;
    shared += kind.block_rows;
    stored += std::int64_t{of_block} * kind.block_rows;
  }
  if (stored > std::numeric_limits<int>::max()) {
    throw std::invalid_argument("the pattern has more than 2^31 rows that are stored in parts");
  }
  return {static_cast<int>(shared), static_cast<int>(stored)};
}

Pattern walked_by(const SparseMask& mask, const SparseListKind& kind) {
  return kind.is_of_keys ? transposed(mask.pattern) : mask.pattern;
}

}  // namespace

RowsOfParts rows_of_parts(const SparseMask& mask, const SparseListKind& kind) {
  if (!may_be_split(mask.pattern)) return {};
  return mask.part_rows->of({kind.is_of_keys, kind.block_rows, kind.step}, [&] {
    const Pattern walked = walked_by(mask, kind);
    return rows_of(parts_of(walked, plans_of(walked, kind), kind), kind);
  });
}

SparseTileLists::SparseTileLists(const SparseMask& mask, const SparseListKind& kind)
    : unions_(static_cast<int>(mask.pattern.unions.size())) {
  const Pattern pattern = walked_by(mask, kind);
  std::optional<SightedPlans> sighted;
  if (mask.sights != nullptr) sighted.emplace(mask, kind, words_);
  if (sighted && !sighted->has_all_words()) sighted.reset();
  std::vector<TilePlan> plans;
  if (sighted) {
    for (int head = 0; head < unions_; ++head) plans.push_back(sighted->plan(head));
  } else {
    plans = plans_of(pattern, kind);
  }
  const std::vector<int> parts = parts_of(pattern, plans, kind);
  part_rows_ = rows_of(parts, kind);
  blocks_of_head_ = std::accumulate(parts.begin(), parts.end(), 0);
  CutTiles cut(mask.pattern, kind, words_);
  const auto cut_of = [&](int head, int row, int key) {
    return sighted ? sighted->of(head, row, key) : cut.of(head, row, key);
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
          of_block.push_back({first + 1, kind.is_of_keys ? 0 : tile_of.seen, tile_of.words, 0});
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
  start_longest_first();
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
  // Each of a block's tiles loads the next one, of two teams the one after it; and behind the
  // last tile a loop may still ask what comes.
  tiles_.insert(tiles_.end(), 2, {behind_last, 0, 0, 0});
}

/// By the tiles of all unions together: what a block of keys has of one head and of the next is of
/// the same keys.
void SparseTileLists::start_longest_first() {
  std::vector<int> tiles(static_cast<std::size_t>(blocks_of_head_)), order(tiles.size());
  for (std::size_t i = 0; i < blocks_.size(); ++i) tiles[i % tiles.size()] += blocks_[i].tiles;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return tiles[static_cast<std::size_t>(a)] > tiles[static_cast<std::size_t>(b)];
  });
  std::vector<SparseBlock> sorted;
  sorted.reserve(blocks_.size());
  for (int head = 0; head < unions_; ++head) {
    for (const int index : order) sorted.push_back(block(head, index));
  }
  blocks_ = std::move(sorted);
}

void SparseTileLists::write(std::byte* to) const {
  std::memcpy(to, blocks_.data(), tiles_at());
  std::memcpy(to + tiles_at(), tiles_.data(), splits_begin() - tiles_at());
  if (!splits_.empty()) {
    std::memcpy(to + splits_begin(), splits_.data(), words_at() - splits_begin());
  }
  if (!words_.empty()) std::memcpy(to + words_at(), words_.data(), bytes() - words_at());
}

const SparseSplit* SparseTileLists::splits_at(const void* memory) const {
  return reinterpret_cast<const SparseSplit*>(static_cast<const std::byte*>(memory) +
                                              splits_begin());
}

SparseLists SparseTileLists::at(const void* memory) const {
  const auto* const bytes = static_cast<const std::byte*>(memory);
  return at(reinterpret_cast<const SparseBlock*>(bytes),
            reinterpret_cast<const SparseTile*>(bytes + tiles_at()),
            reinterpret_cast<const std::uint32_t*>(bytes + words_at()));
}

}  // namespace sparkbench
