// How many blocks of a kernel an SM of a V100 holds at once.
#pragma once

#include <string_view>

namespace sparkbench {

struct Occupancy {
  int blocks;  // of an SM; 0 when not even one fits
  int warps;
  std::string_view limiter;  // "registers", "shared memory", "threads" or "blocks"
};

/// `registers` and `threads` (a block's) are positive. Limits and granularities of compute
/// capability 7.0: CUDA C++ programming guide, table of technical specifications, and NVIDIA's
/// occupancy calculator.
Occupancy volta_occupancy(int registers, int shared_bytes, int threads);

}  // namespace sparkbench
