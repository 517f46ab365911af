#include "harness/model/sass/occupancy.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "kernels/base/round_up.h"

namespace sparkbench {
namespace {

constexpr int kRegisters = 64 * 1024;
constexpr int kWarpRegisterGranularity = 256;
constexpr int kSubPartitions = 4;  // each with its own quarter of the registers

struct SmLimits {
  int sm;
  int shared_bytes, shared_granularity, reserved_shared_bytes;  // the last of every block
  int threads, blocks;
};

constexpr SmLimits kLimits[] = {
    {70, 96 * 1024, 256, 0, 2048, 32},
    {75, 64 * 1024, 256, 0, 1024, 16},
    {80, 164 * 1024, 128, 1024, 2048, 32},
    {90, 228 * 1024, 128, 1024, 2048, 32},
};

struct Limit {
  std::string_view name;
  int blocks;
};

}  // namespace

std::optional<Occupancy> occupancy_of(int sm, int registers, int shared_bytes, int threads) {
  const auto* const of_sm = std::find_if(std::begin(kLimits), std::end(kLimits),
                                         [sm](const SmLimits& each) { return each.sm == sm; });
  if (of_sm == std::end(kLimits)) return std::nullopt;
  const int warps = round_up(threads, 32) / 32;
  const int warp_registers = round_up(32 * registers, kWarpRegisterGranularity);
  const int fitting_warps = kRegisters / kSubPartitions / warp_registers * kSubPartitions;
  const int block_bytes =
      round_up(shared_bytes + of_sm->reserved_shared_bytes, of_sm->shared_granularity);
  const std::array limits = {
      Limit{"registers", fitting_warps / warps}, Limit{"threads", of_sm->threads / (32 * warps)},
      Limit{"blocks", of_sm->blocks},
      Limit{"shared memory", block_bytes == 0 ? of_sm->blocks : of_sm->shared_bytes / block_bytes}};
  const Limit& least =
      *std::min_element(limits.begin(), limits.end(),
                        [](const Limit& a, const Limit& b) { return a.blocks < b.blocks; });
  return Occupancy{least.blocks, least.blocks * warps, least.name};
}

}  // namespace sparkbench
