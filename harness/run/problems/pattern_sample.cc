#include "harness/run/problems/pattern_sample.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {
namespace {

constexpr int kTile = 64;
constexpr int kReferenceRows = 32, kReferenceKeys = 16;  // reference/unfused: rows of a task
constexpr std::size_t kMostTiles = 32;                   // whose rows are examined one by one

/// How a row's keys differ from the next row's: the moves of the first and the last key, and the
/// change in their number.
struct RowEnds {
  int first = 0, last = 0, keys = 0;

  RowEnds from(const RowEnds& before) const {
    return {first - before.first, last - before.last, keys - before.keys};
  }
  bool operator==(const RowEnds&) const = default;
};

RowEnds ends_of(const Pattern& pattern, int head, int row) {
  RowEnds ends;
  for (int first = 0; first < pattern.seqlen_k; first += kWordKeys) {
    const std::uint64_t word = key_word(pattern, head, row, first);
    if (word == 0) continue;
    if (ends.keys == 0) ends.first = first + std::countr_zero(word);
    ends.last = first + kWordKeys - std::countl_zero(word);
    ends.keys += std::popcount(word);
  }
  return ends;
}

/// At most `most` of them, evenly spread.
template <class T>
std::vector<T> thinned(const std::vector<T>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<T> some;
  for (std::size_t i = 0; i < most; ++i) {
    some.push_back(all[most == 1 ? all.size() / 2 : i * (all.size() - 1) / (most - 1)]);
  }
  return some;
}

/// The spans of a row tile, relative to its position.
std::vector<std::pair<int, TileCover>> shape_of(const TilePlan& plan, int row_tile) {
  std::vector<std::pair<int, TileCover>> shape;
  for (const Span& span : plan.spans_of(row_tile)) shape.push_back({span.tiles(), span.cover});
  return shape;
}

/// Row tiles whose spans have another shape than those of the previous tile, and those previous
/// tiles.
std::vector<int> border_tiles(const Pattern& pattern, int head) {
  const TilePlan tiles = plan(pattern, head, kTile, kTile);
  std::vector<int> borders;
  for (int tile = 1; tile < tiles.row_tiles(); ++tile) {
    if (shape_of(tiles, tile) == shape_of(tiles, tile - 1)) continue;
    if (borders.empty() || borders.back() != tile - 1) borders.push_back(tile - 1);
    borders.push_back(tile);
  }
  return borders;
}

/// The keys of all blocks in which a row sees a key.
double keys_of_blocks(const Pattern& pattern, int head, int row) {
  constexpr std::uint64_t kBlock = (1u << kReferenceKeys) - 1;
  double keys = 0;
  for (int first = 0; first < pattern.seqlen_k; first += kWordKeys) {
    for (std::uint64_t word = key_word(pattern, head, row, first); word != 0;
         word >>= kReferenceKeys) {
      if ((word & kBlock) != 0) keys += kReferenceKeys;
    }
  }
  return keys;
}

/// The mean over some rows of each per-head pattern.
double mean_keys_of_blocks(const Pattern& pattern) {
  constexpr int kRows = 64;
  const int rows = std::min(kRows, pattern.seqlen_q),
            unions = static_cast<int>(pattern.unions.size());
  double keys = 0;
  for (int head = 0; head < unions; ++head) {
    for (int i = 0; i < rows; ++i) {
      const auto row = static_cast<int>(std::int64_t{i} * pattern.seqlen_q / rows);
      keys += keys_of_blocks(pattern, head, row);
    }
  }
  return keys / rows / unions;
}

}  // namespace

double keys_per_row(const SparseMask& mask, int block_rows) {
  const Pattern& pattern = mask.pattern;
  if (block_rows == 1) {
    const double of_task = kReferenceRows * mean_keys_of_blocks(pattern);
    return std::max(1.0, std::min<double>(pattern.seqlen_k, of_task));
  }
  const Pattern& walked = mask.walked();
  int most = 0;
  for (std::size_t i = 0; i < walked.unions.size(); ++i) {
    const TilePlan tiles = plan(walked, static_cast<int>(i), block_rows, kTile);
    for (int tile = 0; tile < tiles.row_tiles(); ++tile) {
      most = std::max(most, tiles.tiles_of(tile));
    }
  }
  return std::max(1, std::min(walked.seqlen_k, most * kTile));
}

std::vector<int> border_rows(const Pattern& pattern, int head, std::size_t most) {
  std::vector<int> rows;
  for (const int tile : thinned(border_tiles(pattern, head), kMostTiles)) {
    const int begin = std::max(2, tile * kTile);
    const int end = std::min(pattern.seqlen_q, (tile + 1) * kTile);
    if (begin >= end) continue;
    RowEnds before_last = ends_of(pattern, head, begin - 2);
    RowEnds last = ends_of(pattern, head, begin - 1);
    for (int row = begin; row < end; ++row) {
      const RowEnds ends = ends_of(pattern, head, row);
      if (ends.from(last) != last.from(before_last)) {
        if (rows.empty() || rows.back() != row - 1) rows.push_back(row - 1);
        rows.push_back(row);
      }
      before_last = last;
      last = ends;
    }
  }
  return thinned(rows, most);
}

std::vector<int> last_heads_of_unions(const Problem& problem) {
  const int unions = static_cast<int>(problem.sparse->pattern.unions.size());
  std::vector<int> heads;
  for (int head = std::max(0, problem.heads - unions); head < problem.heads; ++head) {
    heads.push_back(head);
  }
  return heads;
}

}  // namespace sparkbench
