// Facts about plans of a pattern's tiles (kernels/block_sparse/sparse_lists.h), cached with the
// pattern: the memory that a pass takes is asked for before there are lists.
#pragma once

#include <map>
#include <mutex>
#include <tuple>

namespace sparkbench {

/// Rows, or keys, that are split over several blocks, and the rows that the splits store.
struct RowsOfParts {
  int shared = 0, stored = 0;
};

/// Thread-safe.
class PlanFacts {
 public:
  /// Whether the plan is over keys, and the rows and keys of its tiles.
  using Kind = std::tuple<bool, int, int>;

  /// The value of make(), from the first call with this kind.
  template <class Make>
  RowsOfParts parts(const Kind& kind, Make make) {
    const std::lock_guard lock(mutex_);
    const auto found = parts_.find(kind);
    return found != parts_.end() ? found->second : parts_.emplace(kind, make()).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<Kind, RowsOfParts> parts_;
};

}  // namespace sparkbench
