#include "harness/inspect/occupancy.h"

#include <algorithm>
#include <array>

namespace sparkbench {
namespace {

constexpr int kRegisters = 64 * 1024;
constexpr int kWarpRegisterGranularity = 256;
constexpr int kSharedBytes = 96 * 1024;
constexpr int kSharedGranularity = 256;
constexpr int kThreads = 2048;
constexpr int kBlocks = 32;
constexpr int kSubPartitions = 4;  // each with its own quarter of the registers

int round_up(int value, int granularity) {
  return (value + granularity - 1) / granularity * granularity;
}

struct Limit {
  std::string_view name;
  int blocks;
};

}  // namespace

Occupancy volta_occupancy(int registers, int shared_bytes, int threads) {
  const int warps = round_up(threads, 32) / 32;
  const int warp_registers = round_up(32 * registers, kWarpRegisterGranularity);
  const int fitting_warps = kRegisters / kSubPartitions / warp_registers * kSubPartitions;
  const int block_bytes = round_up(shared_bytes, kSharedGranularity);
  const std::array limits = {
      Limit{"registers", fitting_warps / warps}, Limit{"threads", kThreads / (32 * warps)},
      Limit{"blocks", kBlocks},
      Limit{"shared memory", block_bytes == 0 ? kBlocks : kSharedBytes / block_bytes}};
  const Limit& least =
      *std::min_element(limits.begin(), limits.end(),
                        [](const Limit& a, const Limit& b) { return a.blocks < b.blocks; });
  return {least.blocks, least.blocks * warps, least.name};
}

}  // namespace sparkbench
