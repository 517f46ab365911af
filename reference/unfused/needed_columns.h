// Which columns of a matrix of scores some rows need. A pattern leaves most of them out, and a
// product over zeros alone does not change a tensor core's sum, so what is computed of the others
// has the bits that it has in the whole matrix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "reference/tensors/visible_runs.h"
#include "reference/unfused/tensor_core_matmul.h"

namespace sparkbench {

/// Of this many columns side by side all are taken, or none: a multiple of what any tensor core
/// adds up at once.
inline constexpr int kColumnBlock = 16;

class NeededColumns {
 public:
  /// All.
  explicit NeededColumns(int columns);
  /// Those of the blocks in which any of these rows sees something.
  NeededColumns(int columns, std::span<const VisibleRuns> of_rows);

  std::size_t size() const { return columns_.size(); }
  /// Ascending, each as the whole matrix has it.
  std::span<const int> columns() const { return columns_; }
  /// Where a run that a row sees begins among them. There it lies side by side, too.
  std::size_t place_of(const Range& run) const {
    const auto block = static_cast<std::size_t>(run.begin / kColumnBlock);
    const int place = places_[block] + run.begin % kColumnBlock;
    return static_cast<std::size_t>(place);
  }

 private:
  std::vector<int> columns_;
  std::vector<int> places_;  // of each block of the whole matrix; -1: not needed
};

/// What some rows of one head see, or some keys are seen by of the queries of one head.
struct SeenColumns {
  std::vector<VisibleRuns> of_rows;
  NeededColumns columns;
};
/// Of a pattern; of any other mask all columns count as needed.
SeenColumns keys_seen_by(const Problem& problem, const Visibility& visibility,
                         std::span<const QueryRow> rows);
SeenColumns queries_that_see(const Problem& problem, const Visibility& visibility,
                             std::span<const KeyRow> rows, int head);

/// What a row sees of a row of scores over these columns, side by side.
inline std::vector<float> visible_of(std::span<const float> row, const NeededColumns& columns,
                                     std::span<const Range> runs) {
  std::vector<float> visible(size_of(runs));
  for_each_part(runs, std::span(visible), [&](const Range& run, std::span<float> part) {
    std::ranges::copy(row.subspan(columns.place_of(run), part.size()), part.begin());
  });
  return visible;
}

/// The reverse: writes it into a row of a matrix over these columns.
inline void scatter(std::span<const Half> visible, const NeededColumns& columns,
                    std::span<const Range> runs, Half* row) {
  for_each_part(runs, visible, [&](const Range& run, std::span<const Half> part) {
    std::ranges::copy(part, row + columns.place_of(run));
  });
}

}  // namespace sparkbench
