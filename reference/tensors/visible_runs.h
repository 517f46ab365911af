// The keys that rows see under any mask, as intervals, for references that compute row by row.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernels/mask/pattern/pattern.h"
#include "reference/tensors/tensor_rows.h"

namespace sparkbench {

/// Ascending, disjoint and not adjacent, none empty.
using VisibleRuns = std::vector<Range>;

inline std::size_t size_of(std::span<const Range> runs) {
  std::size_t size = 0;
  for (const Range& run : runs) size += static_cast<std::size_t>(run.size());
  return size;
}

/// From the first to the last row (or key) that any of these sees; empty if they see none.
Range hull_of(std::span<const VisibleRuns> rows);

/// Calls visit(run, its part of `values`); `values` has the elements of all runs, side by side.
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
  /// The queries of a head that see a key; each head may have its own pattern.
  VisibleRuns of(const KeyRow& key, int head) const;

  /// The same for each of several rows.
  std::vector<VisibleRuns> of_each(std::span<const QueryRow> queries) const;
  std::vector<VisibleRuns> of_each(std::span<const KeyRow> keys, int head) const;

 private:
  const Problem& problem_;
  std::optional<Pattern> by_key_;  // the transpose of a pattern
};

}  // namespace sparkbench
