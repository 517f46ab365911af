#include "kernels/machine/emulated/blocks/named_barriers.h"

#include <fmt/format.h>

#include <stdexcept>

namespace sparkbench {

std::uint32_t barrier_arguments(int id, int warps) {
  constexpr int kMaxWarps = 32;
  if (id < 1 || id >= kBarriers || warps < 1 || warps > kMaxWarps) {
    throw std::invalid_argument(fmt::format("barrier {} of {} warps", id, warps));
  }
  return static_cast<std::uint32_t>(id << 8 | warps);
}

}  // namespace sparkbench
