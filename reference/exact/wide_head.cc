#include "reference/exact/wide_head.h"

#include <algorithm>

namespace sparkbench {
namespace {

/// Elements of `dots` that stay in the L1 cache during one pass over head_dim.
constexpr std::size_t kChunk = 1024;

/// Below this many rows, read row by row: columns are so far apart that each read costs a cache
/// line for a few wanted elements. A pattern's key intervals are short.
constexpr std::size_t kLeastOfColumns = 256;

/// Rows that are multiplied together, so that no addition waits for its own sum.
constexpr std::size_t kRowsAtOnce = 4;

/// dots[i] = x . row i of a matrix, added in the same order as the column-wise product.
void dot_few_rows(std::span<const double> x, const double* matrix, std::span<double> dots) {
  for (std::size_t i = 0; i < dots.size(); i += kRowsAtOnce) {
    const double* row[kRowsAtOnce];
    double sum[kRowsAtOnce] = {};
    for (std::size_t j = 0; j < kRowsAtOnce; ++j) {
      row[j] = matrix + std::min(i + j, dots.size() - 1) * x.size();
    }
    for (std::size_t d = 0; d < x.size(); ++d) {
      for (std::size_t j = 0; j < kRowsAtOnce; ++j) sum[j] += x[d] * row[j][d];
    }
    std::copy_n(sum, std::min(kRowsAtOnce, dots.size() - i), &dots[i]);
  }
}

}  // namespace

std::vector<double> widen(std::span<const Half> row) {
  std::vector<double> wide(row.size());
  std::transform(row.begin(), row.end(), wide.begin(), to_float);
  return wide;
}

WideHead::WideHead(const HostTensor& tensor, const TensorShape& shape, int batch, int head,
                   const Range& rows)
    : range_(rows),
      size_(static_cast<std::size_t>(rows.size())),
      head_dim_(static_cast<std::size_t>(shape.head_dim)),
      rows_(size_ * head_dim_),
      columns_(size_ * head_dim_) {
  for (int row = rows.begin; row < rows.end; ++row) {
    const Half* const halves = tensor.row(shape, batch, row, head);
    const std::size_t s = index_of(row);
    for (std::size_t d = 0; d < head_dim_; ++d) {
      rows_[s * head_dim_ + d] = columns_[d * size_ + s] = to_float(halves[d]);
    }
  }
}

void WideHead::dot_rows(std::span<const double> x, int first, std::span<double> dots) const {
  if (dots.size() < kLeastOfColumns) {
    return dot_few_rows(x, rows_.data() + index_of(first) * head_dim_, dots);
  }
  for (std::size_t begin = 0; begin < dots.size(); begin += kChunk) {
    const std::span<double> chunk = dots.subspan(begin, std::min(kChunk, dots.size() - begin));
    std::fill(chunk.begin(), chunk.end(), 0.0);
    for (std::size_t d = 0; d < head_dim_; ++d) {
      const double* column = &columns_[d * size_ + index_of(first) + begin];
      for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i] += x[d] * column[i];
    }
  }
}

void WideHead::add_rows(std::span<const double> weights, int first, std::span<double> sum) const {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double* m = &rows_[(index_of(first) + i) * head_dim_];
    for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += weights[i] * m[d];
  }
}

}  // namespace sparkbench
