#include "kernels/baselines/acsr/keys_of_mask.h"

#include <algorithm>
#include <cstring>

#include "kernels/base/ceil_divide.h"
#include "kernels/baselines/acsr/rows_of_mask.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench::acsr {
namespace {

/// The rows of each class of a head's mask.
std::vector<Range> rows_of_classes(const MaskRows& rows, int head, int stride) {
  std::vector<Range> classes(static_cast<std::size_t>(stride), Range{0, 0});
  for (int i = 0; i < rows.blocks_of_head(); ++i) {
    const RowBlock& block = rows.blocks_of(head)[i];
    if (block.rows == 0) continue;
    Range& own = classes[static_cast<std::size_t>(block.residue)];
    const Range more = {block.first_row, block.first_row + block.rows};
    own =
        own.is_empty() ? more : Range{std::min(own.begin, more.begin), std::max(own.end, more.end)};
  }
  return classes;
}

/// The range of a class's rows from the first to the last that sees some of a block's places.
Range rows_of_places(const AffineRow* rows, const Range& own, int first_place) {
  Range seeing = {0, 0};
  for (int i = own.begin; i < own.end; ++i) {
    const AffineRow& row = rows[i];
    if (std::max(row.first, first_place) >= std::min(row.end, first_place + kBlockPlaces)) continue;
    seeing = {seeing.is_empty() ? i : seeing.begin, i + 1};
  }
  return seeing;
}

}  // namespace

MaskKeys::MaskKeys(const Problem& problem, const MaskRows& rows) : unions_(rows.unions()) {
  std::vector<std::vector<KeyBlock>> of_unions;
  for (int head = 0; head < unions_; ++head) {
    const int stride = rows.blocks_of(head)->stride;
    const std::vector<Range> classes = rows_of_classes(rows, head, stride);
    std::vector<KeyBlock> blocks;
    for (int residue = 0; residue < std::min(stride, problem.seqlen_k); ++residue) {
      const int places = ceil_divide(problem.seqlen_k - residue, stride);
      for (int first = 0; first < places; first += kBlockPlaces) {
        const Range seeing =
            rows_of_places(rows.rows_of(head), classes[static_cast<std::size_t>(residue)], first);
        blocks.push_back({first, residue, stride, seeing.begin, seeing.end, {}});
      }
    }
    std::stable_sort(blocks.begin(), blocks.end(), [](const KeyBlock& a, const KeyBlock& b) {
      return a.end_row - a.first_row > b.end_row - b.first_row;
    });
    blocks_of_head_ = std::max(blocks_of_head_, static_cast<int>(blocks.size()));
    of_unions.push_back(std::move(blocks));
  }
  for (std::vector<KeyBlock>& blocks : of_unions) {
    blocks.resize(static_cast<std::size_t>(blocks_of_head_));
    blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
  }
}

const KeyBlock* MaskKeys::blocks_of(int head) const {
  return blocks_.data() +
         static_cast<std::size_t>(head % unions_) * static_cast<std::size_t>(blocks_of_head_);
}

std::vector<std::byte> MaskKeys::all_bytes() const {
  std::vector<std::byte> bytes(this->bytes());
  std::memcpy(bytes.data(), blocks_.data(), bytes.size());
  return bytes;
}

}  // namespace sparkbench::acsr
