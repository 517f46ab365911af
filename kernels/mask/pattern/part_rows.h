// What a plan of a pattern's tiles says of its longest blocks (kernels/sparse_lists.h), kept with
// the pattern: whoever asks how much memory a pass takes has no lists yet.
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
class PartRows {
 public:
  /// Over keys, and of how many rows and keys tiles are.
  using Kind = std::tuple<bool, int, int>;

  /// make()'s, of the first call with this kind.
  template <class Make>
  RowsOfParts of(const Kind& kind, Make make) {
    const std::lock_guard lock(mutex_);
    const auto known = rows_.find(kind);
    return known != rows_.end() ? known->second : rows_.emplace(kind, make()).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<Kind, RowsOfParts> rows_;
};

}  // namespace sparkbench
