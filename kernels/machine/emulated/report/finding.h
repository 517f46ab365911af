// Errors that the emulator finds in a kernel: the source line, the threads, and a message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/machine/emulated/report/call_site.h"

namespace sparkbench {

enum class FindingKind {
  kDivergence,         // lanes of a warp at different collectives, or gone; warps at different
                       // barriers that are for all warps from one place, or that tell different
                       // things of one barrier
  kMissedBarrier,      // threads that never arrive at a barrier that others wait at
  kSharedRace,         // shared memory touched twice, once to write, without a barrier between
  kGlobalRace,         // global memory written by different threads, not only by atomics
  kOutOfBounds,        // not wholly inside shared memory or one global region
  kUninitializedRead,  // memory that nothing has written
  kMisaligned,         // an address that is no multiple of the access's size
  kReadOnlyWrite,      // a store to an input
  kMissingProxyFence,  // a tensor core reads data that its writer has not fenced
  kMissedTurn,         // a turn that no block passes, or a word that none publishes, which was
                       // launched before the one that waits
  kCorruptIndices,     // recompute_indices() of a number that 32 does not divide
};

/// snake_case, as records and messages spell it: "shared_race".
std::string_view to_string(FindingKind kind);

/// One defect, told by the first thread that showed it.
struct Finding {
  FindingKind kind;
  std::string kernel;
  std::array<int, 3> block;
  int thread;             // in the block
  int other_thread = -1;  // the second party; -1 when there is none or it is not known
  std::string address;    // "shared+0x1a0", "global q+0x40"; empty for collectives
  std::string file;       // of the statement in the kernel
  int line;
  std::string message;
};

/// Details that only the detector that found it knows.
struct FindingDetail {
  int other_thread = -1;
  std::string address;
  std::string message;
};

/// The findings of one launch, or of one worker's share of it. Kernels err in loops, so findings of
/// one kind at one line are one, told by the first block and thread; all of them are counted.
class FindingLog {
 public:
  explicit FindingLog(std::string kernel) : kernel_(std::move(kernel)) {}

  /// Later findings are of this block; `index` orders blocks.
  void begin_block(const std::array<int, 3>& block, std::uint64_t index) {
    block_ = block;
    block_index_ = index;
  }

  /// `describe()` gives the FindingDetail; it is called only when this finding is one to keep.
  template <class Describe>
  void add(FindingKind kind, const CallSite& site, int thread, Describe describe) {
    ++total_;
    const Key key{site.file_name(), site.line(), kind};
    const Order order{block_index_, thread};
    const auto kept = kept_.find(key);
    if (kept == kept_.end() || order < kept->second.order) {
      kept_.insert_or_assign(key, Kept{order, make(kind, site, thread, describe())});
    }
  }

  void merge(const FindingLog& other);

  /// The first `count` in order of block and thread.
  std::vector<Finding> first(std::size_t count) const;
  std::uint64_t total() const { return total_; }

 private:
  using Key = std::tuple<std::string, std::uint32_t, FindingKind>;
  using Order = std::pair<std::uint64_t, int>;  // block index, thread
  struct Kept {
    Order order;
    Finding finding;
  };

  Finding make(FindingKind kind, const CallSite& site, int thread, FindingDetail detail) const;

  std::string kernel_;
  std::array<int, 3> block_{};
  std::uint64_t block_index_ = 0;
  std::map<Key, Kept> kept_;
  std::uint64_t total_ = 0;
};

}  // namespace sparkbench
