#include "harness/run/problems/tile_kinds.h"

#include <algorithm>
#include <cmath>

#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/sample.h"

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

}  // namespace sparkbench
