#include "harness/run/problems/row_kinds.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/base/sample.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/mask/pattern/tile_plan.h"

namespace sparkbench {
namespace {

/// Query rows of a sequence that are examined: a pattern's keys are counted word by word.
constexpr int kMostCountedRows = 4096;
constexpr int kLeastRowsOfTile = 4;

constexpr int kNothing = -10000;  // the stratum of rows that see nothing

int floor_of_log2(double value) {
  return value > 0 ? static_cast<int>(std::floor(std::log2(value))) : kNothing;
}

/// Rows per tile that are examined.
int rows_looked_at(int seqlen) {
  return std::clamp(kMostCountedRows / std::max(1, sample_tiles_of(seqlen)), kLeastRowsOfTile,
                    kSampleRows);
}

int rows_of_tile(int seqlen, int tile) {
  return std::min(kSampleRows, seqlen - tile * kSampleRows);
}

/// A sum over ranges, stored as differences between neighbours.
class RangeSums {
 public:
  explicit RangeSums(int size) : steps_(static_cast<std::size_t>(size) + 1) {}
  void add(const Range& range, double value) {
    steps_[static_cast<std::size_t>(range.begin)] += value;
    steps_[static_cast<std::size_t>(range.end)] -= value;
  }
  std::vector<double> values() const {
    std::vector<double> values(steps_.size() - 1);
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = sum += steps_[i];
    return values;
  }

 private:
  std::vector<double> steps_;
};

}  // namespace

std::array<int, 2> TileKind::stratum(bool is_of_keys) const {
  const double steps_of_size = is_of_keys ? 1 : 2;
  const int of_size =
      size > 0 ? static_cast<int>(std::floor(steps_of_size * std::log2(size))) : kNothing;
  return {floor_of_log2(terms), of_size};
}

TileKinds::TileKinds(const Problem& problem) : problem_(problem), visibility_(problem) {}

TileKinds::Alike TileKinds::alike(int batch, int head) const {
  const int unions = problem_.sparse ? static_cast<int>(problem_.sparse->pattern.unions.size()) : 1;
  return {problem_.seqlen_q_of(batch), problem_.seqlen_k_of(batch), head % unions};
}

const TileKinds::HeadKinds& TileKinds::of_head(int batch, int head) {
  const Alike key = alike(batch, head);
  if (const auto known = heads_.find(key); known != heads_.end()) return known->second;
  const int seqlen_q = key[0];
  HeadKinds kinds;
  RangeSums terms(key[1]), squares(key[1]);
  for (int tile = 0; tile < sample_tiles_of(seqlen_q); ++tile) {
    const int rows = rows_of_tile(seqlen_q, tile);
    const int looked_at = std::min(rows, rows_looked_at(seqlen_q));
    const double stands_for = static_cast<double>(rows) / looked_at;
    TileKind kind;
    for (int i = 0; i < looked_at; ++i) {
      const int row = tile * kSampleRows + i * rows / looked_at;
      const VisibleRuns runs = visibility_.of(QueryRow{batch, head, row});
      const auto keys = static_cast<double>(size_of(runs));
      if (keys == 0) continue;
      kind.terms += keys / looked_at;
      kind.size += 1 / std::sqrt(keys) / looked_at;
      for (const Range& run : runs) {
        terms.add(run, stands_for);
        squares.add(run, stands_for / (keys * keys));
      }
    }
    kinds.queries.push_back(kind);
  }
  kinds.key_terms = terms.values();
  kinds.key_squares = squares.values();
  return heads_.emplace(key, std::move(kinds)).first->second;
}

const std::vector<TileKind>& TileKinds::of_queries(int batch, int head) {
  return of_head(batch, head).queries;
}

const std::vector<TileKind>& TileKinds::of_keys(int batch, int key_head) {
  const std::vector<int> readers = query_heads_of(problem_, {batch, key_head, 0});
  const Alike key = alike(batch, readers.front());
  if (const auto known = keys_.find(key); known != keys_.end()) return known->second;
  const int seqlen_k = key[1];
  std::vector<double> terms(static_cast<std::size_t>(seqlen_k)), squares(terms.size());
  for (const int head : readers) {
    const HeadKinds& of = of_head(batch, head);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      terms[i] += of.key_terms[i];
      squares[i] += of.key_squares[i];
    }
  }
  std::vector<TileKind> kinds;
  for (int tile = 0; tile < sample_tiles_of(seqlen_k); ++tile) {
    const int rows = rows_of_tile(seqlen_k, tile);
    TileKind kind;
    for (int i = 0; i < rows; ++i) {
      const std::size_t at =
          static_cast<std::size_t>(tile) * kSampleRows + static_cast<std::size_t>(i);
      if (terms[at] < 0.5) continue;  // rounding residue of 0
      kind.terms += terms[at] / rows;
      kind.size += std::sqrt(std::max(0.0, squares[at])) / rows;
    }
    kinds.push_back(kind);
  }
  return keys_.emplace(key, std::move(kinds)).first->second;
}

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
  int most = 0;
  for (std::size_t i = 0; i < pattern.unions.size(); ++i) {
    const TilePlan tiles = plan(pattern, static_cast<int>(i), block_rows, kTile);
    for (int tile = 0; tile < tiles.row_tiles(); ++tile) {
      most = std::max(most, tiles.tiles_of(tile));
    }
  }
  return std::max(1, std::min(pattern.seqlen_k, most * kTile));
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
