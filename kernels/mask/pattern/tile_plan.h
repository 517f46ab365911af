// Block-sparse metadata on the host: which tiles of scores a kernel visits, and which of them are
// full, as spans of tiles for each tile of rows. The backward pass over keys uses the plan of the
// transposed pattern.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/mask/pattern/pattern.h"

namespace sparkbench {

/// Tiles [begin, end) of a tile of rows, all full or all partial (cut).
struct Span {
  int begin, end;
  TileCover cover;

  int tiles() const { return end - begin; }
  bool operator==(const Span& other) const {
    return begin == other.begin && end == other.end && cover == other.cover;
  }
};

struct TilePlan {
  int seqlen_q = 0, seqlen_k = 0;
  int rows = 0, keys = 0;        // of a tile
  std::vector<Span> spans;       // of one tile of rows after the other, each sorted and disjoint
  std::vector<int> first_spans;  // of each tile of rows; the last entry is the end
  std::uint64_t full_tiles = 0, cut_tiles = 0;

  int row_tiles() const { return static_cast<int>(first_spans.size()) - 1; }
  std::span<const Span> spans_of(int row_tile) const;
  /// Tiles that a tile of rows visits.
  int tiles_of(int row_tile) const;
  /// The most spans of a tile of rows.
  int most_spans() const;
  std::uint64_t tiles() const { return full_tiles + cut_tiles; }
  /// Pairs that tensor cores compute: whole tiles, past the last row and key too.
  std::uint64_t executed_pairs() const;
};

/// The plan for tiles of this many rows and keys. Every visible pair is in a visited tile, and
/// every pair of a full tile is visible. A tile that reaches past the last key is partial; one that
/// reaches past the last row may be full. Throws std::invalid_argument for tiles without a row or a
/// key.
TilePlan plan(const Pattern& pattern, int head, int rows, int keys);

/// Bytes that a kernel reads of the pattern, in addition to spans that it computes itself: nothing
/// for closed forms of at most four spans per tile of rows. Otherwise 16 B per span, 8 B per row
/// for each array, and a word of 64 bits for each row and 64 keys of a partial tile if there are
/// bits.
std::uint64_t metadata_bytes(const Pattern& pattern, int head, const TilePlan& plan);

}  // namespace sparkbench
