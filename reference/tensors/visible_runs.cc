#include "reference/tensors/visible_runs.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {
namespace {

VisibleRuns runs_of(const Range& range) {
  return range.is_empty() ? VisibleRuns() : VisibleRuns{range};
}

void append(VisibleRuns& runs, const Range& run) {
  if (!runs.empty() && runs.back().end == run.begin) {
    runs.back().end = run.end;
  } else {
    runs.push_back(run);
  }
}

/// From the words of a row.
VisibleRuns runs_of(const Pattern& pattern, int head, int row) {
  VisibleRuns runs;
  for (int first = 0; first < pattern.seqlen_k; first += kWordKeys) {
    std::uint64_t word = key_word(pattern, head, row, first);
    for (int at = 0; word != 0;) {
      const int gap = std::countr_zero(word);
      word >>= gap;
      const int size = std::countr_one(word);
      append(runs, {first + at + gap, first + at + gap + size});
      word = size == kWordKeys ? 0 : word >> size;
      at += gap + size;
    }
  }
  return runs;
}

}  // namespace

Range hull_of(std::span<const VisibleRuns> rows) {
  Range hull = {std::numeric_limits<int>::max(), 0};
  for (const VisibleRuns& runs : rows) {
    if (runs.empty()) continue;
    hull.begin = std::min(hull.begin, runs.front().begin);
    hull.end = std::max(hull.end, runs.back().end);
  }
  return hull.end == 0 ? Range{0, 0} : hull;
}

Visibility::Visibility(const Problem& problem) : problem_(problem) {
  if (problem.sparse) by_key_ = transposed(problem.sparse->pattern);
}

VisibleRuns Visibility::of(const QueryRow& query) const {
  if (!problem_.sparse) return runs_of(visible_to(problem_, query));
  return runs_of(problem_.sparse->pattern, query.head, query.row);
}

VisibleRuns Visibility::of(const KeyRow& key, int head) const {
  if (!by_key_) return runs_of(visible_to(problem_, key));
  return runs_of(*by_key_, head, key.row);
}

std::vector<VisibleRuns> Visibility::of_each(std::span<const QueryRow> queries) const {
  std::vector<VisibleRuns> runs;
  for (const QueryRow& query : queries) runs.push_back(of(query));
  return runs;
}

std::vector<VisibleRuns> Visibility::of_each(std::span<const KeyRow> keys, int head) const {
  std::vector<VisibleRuns> runs;
  for (const KeyRow& key : keys) runs.push_back(of(key, head));
  return runs;
}

}  // namespace sparkbench
