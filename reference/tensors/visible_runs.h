// What rows of attention see, by any mask: runs of keys, for references that compute row by row.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/mask/pattern/pattern.h"
#include "reference/tensors/tensor_rows.h"

namespace sparkbench {

/// Ascending, apart, and none empty.
using VisibleRuns = std::vector<Range>;

inline std::size_t size_of(std::span<const Range> runs) {
  std::size_t size = 0;
  for (const Range& run : runs) size += static_cast<std::size_t>(run.size());
  return size;
}

/// From the first row to the last that some rows see; empty if they see none.
Range hull_of(std::span<const VisibleRuns> rows);

/// visit(run, its part of `values`), where values are of the runs' elements, side by side.
template <class T, class Visit>
void for_each_part(std::span<const Range> runs, std::span<T> values, Visit visit) {
  std::size_t begin = 0;
  for (const Range& run : runs) {
    const auto size = static_cast<std::size_t>(run.size());
    visit(run, values.subspan(begin, size));
    begin += size;
  }
}

class Visibility {
 public:
  /// `problem` must outlive it.
  explicit Visibility(const Problem& problem);

  /// The keys that a query sees.
  VisibleRuns of(const QueryRow& query) const;
  /// The queries of a head that see a key: heads may have patterns of their own.
  VisibleRuns of(const KeyRow& key, int head) const;

  /// The same of each of some rows.
  std::vector<VisibleRuns> of_each(std::span<const QueryRow> queries) const;
  std::vector<VisibleRuns> of_each(std::span<const KeyRow> keys, int head) const;

 private:
  const Problem& problem_;
  std::optional<Pattern> by_key_;  // the transpose of a pattern
};

}  // namespace sparkbench
