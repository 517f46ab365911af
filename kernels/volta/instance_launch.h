// How an instance is launched for a problem, as plain bytes: for whoever reads its machine code and
// has no GPU to launch it on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/kernel_instance.h"

namespace sparkbench::volta {

/// Of a device's memory, what the launch finds there and leaves.
struct MemoryContents {
  std::uint64_t address;
  std::vector<std::byte> bytes;
};

struct InstanceLaunch {
  std::array<int, 3> grid;
  int threads;  // of a block
  int dynamic_shared_bytes;
  std::vector<std::byte> parameters;    // the kernel's parameter struct, with tensors at made-up
                                        // addresses, each contiguous and aligned like an allocation
  std::optional<MemoryContents> lists;  // of packed sequences' blocks, or of a pattern's tiles
};

/// One for packed sequences takes the problem's batch entries for sequences, one for patterns a
/// mask for the pattern that it is. Throws std::invalid_argument for an instance of another
/// head_dim, or with dropout for a problem that drops nothing and the other way round.
InstanceLaunch launch_of(const KernelInstance& instance, const Problem& problem);

}  // namespace sparkbench::volta
