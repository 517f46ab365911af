// Facts about plans of a pattern's tiles (kernels/block_sparse/sparse_lists.h), cached with the
// pattern: the memory that a pass takes is asked for before there are lists.
#pragma once

#include <map>
#include <mutex>
#include <tuple>

namespace sparkbench {

/// Thread-safe.
class PlanFacts {
 public:
  /// Whether the plan is over keys, and the rows and keys of its tiles.
  using Kind = std::tuple<bool, int, int>;

  /// The value of make(), from the first call with this kind.
  template <class Make>
  int split_rows(const Kind& kind, Make make) {
    const std::lock_guard lock(mutex_);
    const auto found = split_rows_.find(kind);
    return found != split_rows_.end() ? found->second
                                      : split_rows_.emplace(kind, make()).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<Kind, int> split_rows_;
};

}  // namespace sparkbench
