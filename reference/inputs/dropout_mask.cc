#include "reference/inputs/dropout_mask.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/base/ceil_divide.h"
#include "kernels/strided/pass_dropout.h"

namespace sparkbench {
namespace {

constexpr std::uint32_t kGroupColumns = 64;  // four blocks side by side

/// The dropped elements in the blocks of one group of a row, by pair.
std::array<std::uint32_t, 4> dropped_of_group(const Dropout& dropout, std::uint32_t batch_head,
                                              std::uint32_t row, std::uint32_t column) {
  std::array<std::uint32_t, 4> dropped;
  for (std::uint32_t pair = 0; pair < 4; ++pair) {
    dropped[pair] = dropped_of_block(
        dropout, batch_head, dropout_block(row, column / kGroupColumns * kGroupColumns + 2 * pair));
  }
  return dropped;
}

/// keep[i] is for key first_key + i, in sequence order.
void fill_in_order(const Dropout& dropout, std::uint32_t batch_head, std::uint32_t row,
                   int first_key, std::span<std::uint8_t> keep) {
  const auto begin = static_cast<std::uint32_t>(first_key);
  const auto end = begin + static_cast<std::uint32_t>(keep.size());
  for (std::uint32_t column = begin, group_end; column < end; column = group_end) {
    group_end = std::min(end, (column / kGroupColumns + 1) * kGroupColumns);
    const std::array<std::uint32_t, 4> dropped = dropped_of_group(dropout, batch_head, row, column);
    for (std::uint32_t at = column; at < group_end; ++at) {
      keep[at - begin] = (dropped[at >> 1 & 3u] >> dropout_bit(row, at) & 1u) == 0u;
    }
  }
}

/// 64-bit FNV-1a (Fowler, Noll, Vo): offset basis and prime.
struct Fnv1a {
  std::uint64_t state = 0xcbf29ce484222325u;
  void add(std::uint8_t byte) { state = (state ^ byte) * 0x100000001b3u; }
};

}  // namespace

void fill_keep_mask(const Problem& problem, const QueryRow& query, int first_key,
                    std::span<std::uint8_t> keep) {
  const Dropout dropout = problem.dropout();
  if (dropout.threshold == 0) {
    std::fill(keep.begin(), keep.end(), std::uint8_t{1});
    return;
  }
  const auto batch_head = static_cast<std::uint32_t>(query.batch * problem.heads + query.head);
  const DropoutViews views = dropout_views_of(problem);
  fill_in_order(dropout, batch_head, static_cast<std::uint32_t>(query.row), first_key, keep);
  const int end_key = first_key + static_cast<int>(keep.size());
  for (const DropoutZone& zone : std::span(views.zone, static_cast<std::size_t>(views.count))) {
    if (!zone.has_row(query.row)) continue;
    const int residue = query.row % zone.stride;
    const Range lines = zone.keys_of(query.row);
    const int first_line = std::max(lines.begin, ceil_divide(first_key - residue, zone.stride));
    for (int line = std::max(0, first_line); line < lines.end; ++line) {
      const int column = line * zone.stride + residue;
      if (column >= end_key) break;
      keep[static_cast<std::size_t>(column - first_key)] = dropout_keeps(
          dropout, zone.place(query.batch, problem.heads, query.head, query.row, column));
    }
  }
}

void fill_keep_mask(const Problem& problem, const KeyRow& key, const QueryRow& first_query,
                    std::span<std::uint8_t> keep) {
  const Dropout dropout = problem.dropout();
  if (dropout.threshold == 0) {
    std::fill(keep.begin(), keep.end(), std::uint8_t{1});
    return;
  }
  const DropoutViews views = dropout_views_of(problem);
  for (std::size_t i = 0; i < keep.size(); ++i) {
    const int query = first_query.row + static_cast<int>(i);
    keep[i] =
        dropout_keeps(dropout, views.place(first_query.batch, first_query.head, query, key.row));
  }
}

double exact_keep_scale(const Problem& problem) {
  const std::uint32_t threshold = problem.dropout().threshold;
  if (problem.dropout_scale == DropoutScale::kAsked && threshold != 0) {
    return 1.0 / (1.0 - static_cast<double>(problem.dropout_p));
  }
  return 256.0 / (256.0 - threshold);
}

DropoutMaskSummary summarize_dropout_mask(const Problem& problem, std::span<const QueryRow> rows) {
  std::vector<std::uint8_t> keep;
  std::size_t kept = 0, elements = 0;
  Fnv1a hash;
  for (const QueryRow& r : rows) {
    const auto columns = static_cast<std::size_t>(problem.seqlen_k_of(r.batch));
    keep.assign((columns + 7) / 8 * 8, 0);
    elements += columns;
    fill_keep_mask(problem, r, 0, std::span(keep).first(columns));
    for (std::size_t byte = 0; byte < keep.size(); byte += 8) {
      unsigned bits = 0;
      for (unsigned bit = 0; bit < 8; ++bit) bits |= unsigned{keep[byte + bit]} << bit;
      hash.add(static_cast<std::uint8_t>(bits));
    }
    kept += static_cast<std::size_t>(std::count(keep.begin(), keep.end(), 1));
  }
  return {static_cast<double>(kept) / static_cast<double>(elements), hash.state};
}

}  // namespace sparkbench
