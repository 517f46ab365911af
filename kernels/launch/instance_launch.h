// How an instance is launched for a problem, as plain bytes: for tools that read its machine code
// and have no GPU to launch it on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/launch/plan.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

/// Device memory that the launch finds and leaves with these bytes.
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
  std::optional<MemoryContents> lists;  // of varlen blocks, of a pattern's tiles or rows
};

/// Device memory of which only the addresses are used.
class MadeUpMemory {
 public:
  template <class T>
  T* allocate() {
    next_ += kSpacing;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of a device that is not there
    return reinterpret_cast<T*>(next_);
  }
  /// Below all allocations.
  static const void* lists() {
    return reinterpret_cast<const void*>(kFirst);  // NOLINT(performance-no-int-to-ptr)
  }

 private:
  static constexpr std::uintptr_t kFirst = std::uintptr_t{1} << 42;
  static constexpr std::uintptr_t kSpacing = std::uintptr_t{1} << 37;  // 128 GiB
  std::uintptr_t next_ = kFirst;
};

inline ForwardTensors made_up_forward(const Problem& problem, MadeUpMemory& memory) {
  const Bits16* const q = memory.allocate<Bits16>();
  const Bits16* const k = memory.allocate<Bits16>();
  const Bits16* const v = memory.allocate<Bits16>();
  Bits16* const o = memory.allocate<Bits16>();
  return contiguous_tensors(problem, q, k, v, o, memory.allocate<float>());
}

inline BackwardTensors made_up_backward(const Problem& problem, MadeUpMemory& memory) {
  std::array<Bits16*, 8> tensors;
  for (Bits16*& tensor : tensors) tensor = memory.allocate<Bits16>();
  const auto [q, k, v, o, d_o, dq, dk, dv] = tensors;
  return contiguous_tensors(problem, q, k, v, o, d_o, memory.allocate<float>(), dq, dk, dv);
}

inline InstanceLaunch launch_of_step(const Step& step, std::optional<MemoryContents> lists) {
  const auto* const bytes = static_cast<const std::byte*>(step.params.data());
  return {step.grid,
          step.instance->threads,
          step.instance->dynamic_shared_bytes,
          {bytes, bytes + step.params.size()},
          std::move(lists)};
}

}  // namespace sparkbench
