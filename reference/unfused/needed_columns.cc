#include "reference/unfused/needed_columns.h"

#include <numeric>
#include <utility>

#include "kernels/base/ceil_divide.h"

namespace sparkbench {
namespace {

SeenColumns seen_columns(const Problem& problem, int columns, std::vector<VisibleRuns> of_rows) {
  NeededColumns needed = problem.sparse ? NeededColumns(columns, of_rows) : NeededColumns(columns);
  return {std::move(of_rows), std::move(needed)};
}

}  // namespace

NeededColumns::NeededColumns(int columns)
    : columns_(static_cast<std::size_t>(columns)),
      places_(static_cast<std::size_t>(ceil_divide(columns, kColumnBlock))) {
  std::iota(columns_.begin(), columns_.end(), 0);
  for (std::size_t block = 0; block < places_.size(); ++block) {
    places_[block] = static_cast<int>(block) * kColumnBlock;
  }
}

NeededColumns::NeededColumns(int columns, std::span<const VisibleRuns> of_rows)
    : places_(static_cast<std::size_t>(ceil_divide(columns, kColumnBlock)), -1) {
  for (const VisibleRuns& runs : of_rows) {
    for (const Range& run : runs) {
      const auto first = places_.begin() + run.begin / kColumnBlock;
      const auto end = places_.begin() + ceil_divide(run.end, kColumnBlock);
      std::fill(first, end, 0);
    }
  }
  for (std::size_t block = 0; block < places_.size(); ++block) {
    if (places_[block] < 0) continue;
    places_[block] = static_cast<int>(columns_.size());
    const int begin = static_cast<int>(block) * kColumnBlock;
    for (int column = begin; column < std::min(begin + kColumnBlock, columns); ++column) {
      columns_.push_back(column);
    }
  }
}

SeenColumns keys_seen_by(const Problem& problem, const Visibility& visibility,
                         std::span<const QueryRow> rows) {
  std::vector<VisibleRuns> of_rows;
  for (const QueryRow& r : rows) of_rows.push_back(visibility.of(r));
  return seen_columns(problem, problem.seqlen_k_of(rows.front().batch), std::move(of_rows));
}

SeenColumns queries_that_see(const Problem& problem, const Visibility& visibility,
                             std::span<const KeyRow> rows, int head) {
  std::vector<VisibleRuns> of_rows;
  for (const KeyRow& r : rows) of_rows.push_back(visibility.of(r, head));
  return seen_columns(problem, problem.seqlen_q_of(rows.front().batch), std::move(of_rows));
}

}  // namespace sparkbench
