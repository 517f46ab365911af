// What plans of a pattern's tiles say (kernels/block_sparse/sparse_lists.h), kept with the pattern:
// whoever asks how much memory a pass takes has no lists yet.
#pragma once

#include <map>
#include <mutex>
#include <tuple>

namespace sparkbench {

/// Rows, or keys, that several blocks have a part of each, and those that their parts store.
struct RowsOfParts {
  int shared = 0, stored = 0;
};

/// Any thread may ask it.
class PlanFacts {
 public:
  /// Over keys, and of how many rows and keys tiles are.
  using Kind = std::tuple<bool, int, int>;

  /// make()'s, of the first call with this kind.
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
