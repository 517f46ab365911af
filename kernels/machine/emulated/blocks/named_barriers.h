// The named barriers 1 to 15 of a block. Only some warps may meet there, from different statements.
// Some only arrive; the others wait until as many warps have come as all of them said.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sparkbench {

inline constexpr int kBarriers = 16;  // with the block's own, 0

/// A use of a barrier, from its first warp to the one that completes it.
struct NamedBarrier {
  int expected = 0;  // warps
  int came = 0;
  std::uint32_t came_warps = 0, waiting_warps = 0;  // a bit per warp

  bool complete() const { return came == expected; }
};

/// The arguments of a call as a collective's: `id` is 1 to 15, `warps` 1 to 32; else
/// std::invalid_argument.
std::uint32_t barrier_arguments(int id, int warps);
inline std::size_t barrier_id(std::uint32_t arguments) { return arguments >> 8; }
inline int barrier_warps(std::uint32_t arguments) { return static_cast<int>(arguments & 0xffu); }

class NamedBarriers {
 public:
  NamedBarrier& operator[](std::size_t id) { return barriers_[id]; }
  void begin_block() { barriers_.fill({}); }
  /// The first barrier that warps wait at, or 0 if there is none.
  std::size_t first_awaited() const {
    for (std::size_t id = 1; id < barriers_.size(); ++id) {
      if (barriers_[id].waiting_warps != 0) return id;
    }
    return 0;
  }

 private:
  std::array<NamedBarrier, kBarriers> barriers_;
};

}  // namespace sparkbench
