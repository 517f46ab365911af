// The mask bits of a pattern's partial tiles, found by the host, for sparse_lists.h. Each kind of
// tile is evaluated once, and tiles with equal bits share them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/block_sparse/sparse_lists.h"
#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// Rows of the warp for which SparseTile::seen has two bits.
inline constexpr int kWarpRowsOfList = 32;

/// Throws std::invalid_argument if the list cannot address so many words.
inline void require_room(std::uint64_t words) {
  if (words <= std::numeric_limits<int>::max()) return;
  throw std::invalid_argument("the pattern has more than 2^31 words of cut tiles");
}

/// SparseTile::seen of a tile with these mask bits, `halves` words per row.
inline std::uint32_t seen_of_words(const std::uint32_t* words, int rows, int halves) {
  std::uint32_t seen = 0;
  for (int row = 0; row < rows; ++row) {
    for (int half = 0; half < halves; ++half) {
      seen |= static_cast<std::uint32_t>(*words++ != 0) << (2 * (row / kWarpRowsOfList) + half);
    }
  }
  return seen;
}

/// The positions of a tile's first row and first key.
struct TilePosition {
  int row, key;
};

/// A closed form's view of a tile, in numbers that are equal for tiles with equal mask bits: the
/// zone relative to the tile, and the tile relative to a grid.
class TileSignature {
 public:
  TileSignature(const Pattern& pattern, int rows, int keys)
      : pattern_(pattern), rows_(rows), keys_(keys) {}

  /// Nothing if arrays or bits decide, or a grid that is not the same everywhere.
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
  /// The outermost axis has no ends, so that a tile shows the same as one that is whole lines
  /// further on, unless its zone has bounds of its own.
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

/// What is kept of a partial tile.
struct CutTile {
  int words;           // offset of its mask bits
  std::uint32_t seen;  // SparseTile::seen
};

/// The mask bits of partial tiles, each kind of tile once.
class CutTiles {
 public:
  CutTiles(const Pattern& pattern, const SparseListKind& kind, std::vector<std::uint32_t>& words)
      : pattern_(pattern),
        rows_(kind.is_of_keys ? kind.step : kind.block_rows),
        keys_(kind.is_of_keys ? kind.block_rows : kind.step),
        words_(words),
        signature_(pattern, rows_, keys_) {}

  /// The tile from this row and key on.
  CutTile of(int head, int first_row, int first_key) {
    if (!signature_.make(head, first_row, first_key)) return made(head, first_row, first_key);
    const auto known = by_signature_.find(signature_.bytes());
    if (known != by_signature_.end()) return known->second;
    const std::string signature(signature_.bytes());
    return by_signature_.emplace(signature, made(head, first_row, first_key)).first->second;
  }

 private:
  /// A hash of both types, so that a lookup copies nothing.
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

}  // namespace sparkbench
