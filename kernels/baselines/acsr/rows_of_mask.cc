#include "kernels/baselines/acsr/rows_of_mask.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

#include "kernels/mask/mask_spec.h"
#include "kernels/mask/pattern/acsr.h"
#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench::acsr {
namespace {

std::shared_ptr<const SparseMask> pattern_of_problem(const Problem& problem) {
  if (problem.sparse) return problem.sparse;
  return make_sparse_mask(name_of(problem.mask), problem.seqlen_q, problem.seqlen_k);
}

/// The stride that all rows with more than one key share; 1 if there are no such rows.
int only_stride(const std::vector<AcsrRow>& rows) {
  int stride = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].count < 2 || rows[row].stride == stride) continue;
    if (stride != 0) {
      throw std::invalid_argument("row " + std::to_string(row) + " has stride " +
                                  std::to_string(rows[row].stride) + ", those before it " +
                                  std::to_string(stride));
    }
    stride = rows[row].stride;
  }
  return std::max(stride, 1);
}

/// The rows of a pattern by classes, their values from `first_chunk` on.
std::vector<AffineRow> rows_by_class(const std::vector<AcsrRow>& rows, int stride,
                                     std::uint64_t first_chunk) {
  std::vector<int> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  const auto residue = [&](int row) { return rows[static_cast<std::size_t>(row)].offset % stride; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return residue(a) < residue(b); });
  std::vector<AffineRow> all;
  all.reserve(rows.size());
  for (const int row : order) {
    const AcsrRow& affine = rows[static_cast<std::size_t>(row)];
    const int first = affine.offset / stride;
    all.push_back({row, first, first + affine.count, static_cast<int>(first_chunk)});
    first_chunk += static_cast<std::uint64_t>(all.back().chunks());
    if (first_chunk > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
      throw std::invalid_argument("a head's rows have 2^31 chunks of values or more");
    }
  }
  return all;
}

RowBlock block_of(const AffineRow* rows, int first_row, int count) {
  RowBlock block{first_row, count, 0, 0, std::numeric_limits<int>::max(), 0, {}};
  for (int i = 0; i < count; ++i) {
    const AffineRow& row = rows[first_row + i];
    if (row.first == row.end) continue;
    block.begin = std::min(block.begin, row.first / kTileKeys * kTileKeys);
    block.end = std::max(block.end, row.end);
  }
  if (block.end == 0) block.begin = 0;
  return block;
}

std::vector<RowBlock> blocks_of_rows(const std::vector<AcsrRow>& acsr,
                                     const std::vector<AffineRow>& rows, int stride) {
  const auto residue = [&](int i) {
    return acsr[static_cast<std::size_t>(rows[static_cast<std::size_t>(i)].row)].offset % stride;
  };
  std::vector<RowBlock> blocks;
  const auto count = static_cast<int>(rows.size());
  for (int first = 0, end = 0; first < count; first = end) {
    while (end < count && end - first < kBlockRows && residue(end) == residue(first)) ++end;
    blocks.push_back(block_of(rows.data(), first, end - first));
    blocks.back().residue = residue(first);
    blocks.back().stride = stride;
  }
  std::stable_sort(blocks.begin(), blocks.end(), [](const RowBlock& a, const RowBlock& b) {
    return a.end - a.begin > b.end - b.begin;
  });
  return blocks;
}

}  // namespace

MaskRows::MaskRows(const Problem& problem) : seqlen_q_(static_cast<std::size_t>(problem.seqlen_q)) {
  const auto mask = pattern_of_problem(problem);
  std::vector<std::vector<RowBlock>> of_unions;
  for (int head = 0; head < static_cast<int>(mask->pattern.unions.size()); ++head) {
    const std::vector<AcsrRow> acsr = acsr_of(mask->pattern, head);
    const int stride = only_stride(acsr);
    const std::vector<AffineRow> rows = rows_by_class(acsr, stride, chunks_of_turn());
    std::uint64_t chunks = 0;
    for (const AffineRow& row : rows) {
      chunks += static_cast<std::uint64_t>(row.chunks());
      most_chunks_ = std::max(most_chunks_, row.chunks());
    }
    chunks_of_unions_.push_back(chunks);
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    of_unions.push_back(blocks_of_rows(acsr, rows, stride));
    blocks_of_head_ = std::max(blocks_of_head_, static_cast<int>(of_unions.back().size()));
  }
  for (std::vector<RowBlock>& blocks : of_unions) {
    blocks.resize(static_cast<std::size_t>(blocks_of_head_));
    blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
  }
}

std::uint64_t MaskRows::chunks_of_turn() const { return chunks_of_heads(unions()); }

std::uint64_t MaskRows::chunks_of_heads(int heads) const {
  std::uint64_t chunks = 0;
  for (int of_union = 0; of_union < unions(); ++of_union) {
    const int turns = (heads - of_union + unions() - 1) / unions();
    chunks += static_cast<std::uint64_t>(std::max(turns, 0)) *
              chunks_of_unions_[static_cast<std::size_t>(of_union)];
  }
  return chunks;
}

std::vector<std::byte> MaskRows::all_bytes() const {
  std::vector<std::byte> bytes(this->bytes());
  std::memcpy(bytes.data(), blocks_.data(), rows_at());
  std::memcpy(bytes.data() + rows_at(), rows_.data(), bytes.size() - rows_at());
  return bytes;
}

}  // namespace sparkbench::acsr
