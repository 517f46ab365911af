// How many blocks of a kernel an SM holds at once.
#pragma once

#include <optional>
#include <string_view>

namespace sparkbench {

struct Occupancy {
  int blocks;  // of an SM; 0 when not even one fits
  int warps;
  std::string_view limiter;  // "registers", "shared memory", "threads" or "blocks"
};

/// `registers` and `threads` (a block's) are positive. Nothing for a compute capability `sm` whose
/// limits are not listed here. Limits and granularities: CUDA C++ programming guide, table of
/// technical specifications, and NVIDIA's occupancy calculator.
std::optional<Occupancy> occupancy_of(int sm, int registers, int shared_bytes, int threads);

}  // namespace sparkbench
