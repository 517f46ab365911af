#include "reference/exact/wide_head.h"

#include <algorithm>

namespace sparkbench {
namespace {

/// Elements of `dots` that stay in the first-level cache while all of head_dim passes over them.
constexpr std::size_t kChunk = 1024;

}  // namespace

std::vector<double> widen(std::span<const Half> row) {
  std::vector<double> wide(row.size());
  std::transform(row.begin(), row.end(), wide.begin(), to_float);
  return wide;
}

WideHead::WideHead(const HostTensor& tensor, const TensorShape& shape, int batch, int head)
    : seqlen_(static_cast<std::size_t>(shape.seqlen_of(batch))),
      head_dim_(static_cast<std::size_t>(shape.head_dim)),
      rows_(seqlen_ * head_dim_),
      columns_(seqlen_ * head_dim_) {
  for (std::size_t s = 0; s < seqlen_; ++s) {
    const Half* const halves = tensor.row(shape, batch, static_cast<int>(s), head);
    for (std::size_t d = 0; d < head_dim_; ++d) {
      rows_[s * head_dim_ + d] = columns_[d * seqlen_ + s] = to_float(halves[d]);
    }
  }
}

void WideHead::dot_rows(std::span<const double> x, int first, std::span<double> dots) const {
  for (std::size_t begin = 0; begin < dots.size(); begin += kChunk) {
    const std::span<double> chunk = dots.subspan(begin, std::min(kChunk, dots.size() - begin));
    std::fill(chunk.begin(), chunk.end(), 0.0);
    for (std::size_t d = 0; d < head_dim_; ++d) {
      const double* column = &columns_[d * seqlen_ + static_cast<std::size_t>(first) + begin];
      for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i] += x[d] * column[i];
    }
  }
}

void WideHead::add_rows(std::span<const double> weights, int first, std::span<double> sum) const {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double* m = &rows_[(static_cast<std::size_t>(first) + i) * head_dim_];
    for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += weights[i] * m[d];
  }
}

}  // namespace sparkbench
