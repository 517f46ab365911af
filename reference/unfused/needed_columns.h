// Which columns of a score matrix some rows need. A pattern leaves most of them out. A product over
// zeros only does not change a tensor core's sum, so the remaining columns have the same bits as in
// the whole matrix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "reference/tensors/visible_runs.h"
#include "reference/unfused/tensor_core_matmul.h"

namespace sparkbench {

/// Columns are taken in aligned blocks of this many: a multiple of the block length of any tensor
/// core.
inline constexpr int kColumnBlock = 16;

class NeededColumns {
 public:
  /// All columns.
  explicit NeededColumns(int columns);
  /// The blocks in which any of these rows sees a column.
  NeededColumns(int columns, std::span<const VisibleRuns> of_rows);

  std::size_t size() const { return columns_.size(); }
  /// Ascending indices in the whole matrix.
  std::span<const int> columns() const { return columns_; }
  /// Index of the first column of a run that a row sees. The run is contiguous here too.
  std::size_t place_of(const Range& run) const {
    const auto block = static_cast<std::size_t>(run.begin / kColumnBlock);
    const int place = places_[block] + run.begin % kColumnBlock;
    return static_cast<std::size_t>(place);
  }

 private:
  std::vector<int> columns_;
  std::vector<int> places_;  // per block of the whole matrix; -1: not needed
};

/// The keys that some rows of one head see, or the queries of one head that see some keys.
struct SeenColumns {
  std::vector<VisibleRuns> of_rows;
  NeededColumns columns;
};
/// For a pattern. For any other mask all columns count as needed.
SeenColumns keys_seen_by(const Problem& problem, const Visibility& visibility,
                         std::span<const QueryRow> rows);
SeenColumns queries_that_see(const Problem& problem, const Visibility& visibility,
                             std::span<const KeyRow> rows, int head);

/// The visible elements of a row of scores over these columns, side by side.
inline std::vector<float> visible_of(std::span<const float> row, const NeededColumns& columns,
                                     std::span<const Range> runs) {
  std::vector<float> visible(size_of(runs));
  for_each_part(runs, std::span(visible), [&](const Range& run, std::span<float> part) {
    std::ranges::copy(row.subspan(columns.place_of(run), part.size()), part.begin());
  });
  return visible;
}

/// The reverse: writes them to a row of a matrix over these columns.
inline void scatter(std::span<const float> visible, const NeededColumns& columns,
                    std::span<const Range> runs, float* row) {
  for_each_part(runs, visible, [&](const Range& run, std::span<const float> part) {
    std::ranges::copy(part, row + columns.place_of(run));
  });
}

}  // namespace sparkbench
