// A launch on the emulated machine: a grid of blocks over the host's cores, with a report of what
// the kernel did and what it did wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/machine/emulated/memory/global_memory.h"
#include "kernels/machine/emulated/report/counters.h"
#include "kernels/machine/emulated/report/finding.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"

namespace sparkbench {

class EmulatedMachine;

/// The body of every thread of the grid, called concurrently by several workers.
using EmulatedKernel = std::function<void(EmulatedMachine&)>;

struct LaunchShape {
  std::string kernel;  // its name, for findings
  std::array<int, 3> grid;
  int threads;  // of a block: a multiple of 32, at most 1024
  std::size_t shared_bytes;
  std::vector<std::array<int, 3>> blocks = {};  // only these, each once; empty: the whole grid
  /// Work of the blocks with each block(0), in any unit in which their counts are affine (such as
  /// the key tiles that they visit). grid_counters extrapolates by it. Empty: counts are affine in
  /// block(0).
  std::vector<double> work = {};
  bool works_by_items = false;  // `work` is indexed by block(1) + grid[1] * block(2) instead
};

struct EmulationOptions {
  const ArithmeticProfile* profile;  // of the tensor cores
  bool detect = true;                // races and uninitialized reads; the rest is always found
  bool count = true;
  std::uint64_t schedule_seed = 0;  // the order of blocks, warps and lanes; 0 is the natural one
  int workers = 0;                  // 0: one a core
  /// The device's: a V100's 96 KiB. Kernels have instances for less.
  std::size_t shared_bytes_per_block = std::size_t{96} << 10;
};

struct EmulationReport {
  Counters counters;                // of the blocks that ran; all zeros unless options.count
  bool is_sample = false;           // only some blocks of the grid ran
  Counters grid_counters;           // of all blocks; of a sample extrapolated (grid_counters.h)
  std::vector<SiteCounters> sites;  // by source line, most bank conflicts first, then wavefronts
  std::vector<Finding> findings;    // the first of each kind and line, at most kMaxFindings
  std::uint64_t findings_total = 0;
  double host_seconds = 0.0;  // how long the emulation took: not a GPU's time
};

inline constexpr std::size_t kMaxFindings = 20;

/// Adds what a later launch of the same work reports.
void add_report(EmulationReport& total, const EmulationReport& launch);

/// Runs the kernel for every block. A block whose threads can never meet is abandoned, with a
/// finding, and the launch goes on. `regions` is all the global memory that exists. Rethrows what
/// the kernel throws; throws std::invalid_argument for an impossible shape, `work` of the wrong
/// length, no profile, and regions that are misaligned or overlap.
EmulationReport emulate(const LaunchShape& shape, std::span<const GlobalRegion> regions,
                        const EmulationOptions& options, const EmulatedKernel& kernel);

}  // namespace sparkbench
