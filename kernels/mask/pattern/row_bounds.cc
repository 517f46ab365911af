#include "kernels/mask/pattern/row_bounds.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace sparkbench {
namespace {

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

SharedBounds document_bounds(std::span<const int> lengths, int seqlen_q, int seqlen_k) {
  for (const int length : lengths) {
    if (length < 1) {
      throw std::invalid_argument("a document has length " + std::to_string(length) +
                                  "; allowed: 1 and more");
    }
  }
  RowBounds bounds;
  bounds.begin.reserve(static_cast<std::size_t>(seqlen_q));
  bounds.end.reserve(static_cast<std::size_t>(seqlen_q));
  std::size_t document = 0;
  std::int64_t begin = 0;
  for (int row = 0; row < seqlen_q; ++row) {
    const std::int64_t p = std::int64_t{row} + seqlen_k - seqlen_q;
    while (document < lengths.size() && p >= begin + lengths[document]) {
      begin += lengths[document++];
    }
    const bool is_outside = p < 0 || document == lengths.size();
    const std::int64_t end = is_outside ? begin : begin + lengths[document];
    bounds.begin.push_back(static_cast<int>(std::min<std::int64_t>(begin, seqlen_k)));
    bounds.end.push_back(static_cast<int>(std::min<std::int64_t>(end, seqlen_k)));
  }
  return std::make_shared<const RowBounds>(std::move(bounds));
}

std::vector<int> drawn_documents(int mean, int seqlen) {
  std::vector<int> lengths;
  std::uint64_t state = 0;
  const std::uint64_t most = 2 * static_cast<std::uint64_t>(mean) - 1;
  for (std::int64_t filled = 0; filled < seqlen; filled += lengths.back()) {
    const auto length = static_cast<std::int64_t>(1 + next_random(state) % most);
    lengths.push_back(static_cast<int>(std::min(length, seqlen - filled)));
  }
  return lengths;
}

SharedBounds both(const RowBounds& a, const RowBounds& b) {
  RowBounds bounds = a;
  for (std::size_t row = 0; row < bounds.begin.size(); ++row) {
    bounds.begin[row] = std::max(a.begin[row], b.begin[row]);
    bounds.end[row] = std::min(a.end[row], b.end[row]);
  }
  return std::make_shared<const RowBounds>(std::move(bounds));
}

SharedBounds keys_before(const RowBounds& bounds) {
  return std::make_shared<const RowBounds>(
      RowBounds{std::vector<int>(bounds.begin.size(), 0), bounds.begin});
}

SharedBounds keys_behind(const RowBounds& bounds, int seqlen_k) {
  // A row without keys has everything but the keys before its begin.
  RowBounds behind = bounds;
  for (std::size_t row = 0; row < behind.begin.size(); ++row) {
    behind.begin[row] = std::max(bounds.begin[row], bounds.end[row]);
    behind.end[row] = seqlen_k;
  }
  return std::make_shared<const RowBounds>(std::move(behind));
}

SharedBounds transposed(const RowBounds& bounds, int seqlen_k) {
  RowBounds other;
  std::size_t first = 0, past = 0;  // rows with end > key; rows with begin <= key
  for (int key = 0; key < seqlen_k; ++key) {
    while (first < bounds.end.size() && bounds.end[first] <= key) ++first;
    while (past < bounds.begin.size() && bounds.begin[past] <= key) ++past;
    other.begin.push_back(static_cast<int>(first));
    other.end.push_back(static_cast<int>(past));
  }
  return std::make_shared<const RowBounds>(std::move(other));
}

}  // namespace sparkbench
