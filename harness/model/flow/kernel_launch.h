// What a launch tells every thread of a kernel: the extents of the grid and of a block, and the
// parameters, where sm_70's code looks for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sparkbench {

using Extents = std::array<int, 3>;  // x, y, z

/// c[0x0] as the driver fills it: the extents, the top of a thread's local memory, the parameters.
class ConstantBank {
 public:
  ConstantBank(const Extents& grid, const Extents& block, std::span<const std::byte> parameters);

  /// `bytes`, 1 to 4, from `offset` on, the first the lowest; nothing where the driver keeps what
  /// this model does not know.
  std::optional<std::uint32_t> load(std::uint32_t offset, std::uint32_t bytes) const;

 private:
  bool knows(std::uint32_t begin, std::uint32_t end) const;
  void store(std::uint32_t offset, std::span<const std::byte> bytes);

  std::vector<std::byte> bytes_;
};

/// Global memory whose contents are known, since no thread of the launch writes there.
struct KnownMemory {
  std::uint64_t begin = 0;
  std::vector<std::byte> bytes;

  /// The word of 4 bytes from `address` on; nothing where one of them is not known.
  std::optional<std::uint32_t> load(std::uint64_t address) const;
};

struct KernelLaunch {
  KernelLaunch(const Extents& of_grid, const Extents& of_block,
               std::span<const std::byte> parameters, KnownMemory known = {})
      : grid(of_grid),
        block(of_block),
        constants(of_grid, of_block, parameters),
        memory(std::move(known)) {}

  int threads() const { return block[0] * block[1] * block[2]; }

  Extents grid, block;
  ConstantBank constants;
  KnownMemory memory;
};

}  // namespace sparkbench
