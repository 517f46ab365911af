// What plans of a pattern's tiles say (kernels/block_sparse/sparse_lists.h,
// kernels/block_sparse/relayed_keys.h), kept with the pattern: whoever asks which kernels a pass
// takes, and how much memory, has no lists yet.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

namespace sparkbench {

/// Rows, or keys, that several blocks have a part of each, and those that their parts store.
struct RowsOfParts {
  int shared = 0, stored = 0;
};

/// How blocks of keys would hand on the sums of rows, each to the next that sees them.
struct RelayOfKeys {
  bool reaches_all_rows = false;  // whether each step of rows has a block
  bool splits_blocks = false;     // whether lists that are not in relay split some (work_items.h)
  int most_waits = 0;      // steps that a block waits where all blocks begin at once, at most
  int most_first = 0;      // steps of which a block is the first, at most
  std::int64_t tiles = 0;  // of the union that has most
};

/// Any thread may ask it.
class PlanFacts {
 public:
  /// Over keys, and of how many rows and keys tiles are.
  using Kind = std::tuple<bool, int, int>;

  /// make()'s, of the first call with this kind.
  template <class Make>
  RowsOfParts parts(const Kind& kind, Make make) {
    return known(parts_, kind, make);
  }
  template <class Make>
  RelayOfKeys relay(const Kind& kind, Make make) {
    return known(relays_, kind, make);
  }

 private:
  template <class Fact, class Make>
  Fact known(std::map<Kind, Fact>& facts, const Kind& kind, Make make) {
    const std::lock_guard lock(mutex_);
    const auto found = facts.find(kind);
    return found != facts.end() ? found->second : facts.emplace(kind, make()).first->second;
  }

  std::mutex mutex_;
  std::map<Kind, RowsOfParts> parts_;
  std::map<Kind, RelayOfKeys> relays_;
};

}  // namespace sparkbench
