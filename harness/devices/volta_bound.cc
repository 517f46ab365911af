#include "harness/devices/volta_bound.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sparkbench {
namespace {

constexpr int kSmCount = 80;
constexpr double kClockMhz = 1530.0;
constexpr std::uint64_t kSubPartitions = 4;  // per SM, each issues one instruction a cycle

// Cycles of a sub-partition's resource per warp instruction.
constexpr std::uint64_t kMmaCycles = 8;
constexpr std::uint64_t kWideningCycles = 2;
constexpr std::uint64_t kXuCycles = 8;
constexpr std::uint64_t kFp32AccIssueSlots = 4;
constexpr std::uint64_t kFp16AccIssueSlots = 2;

constexpr double kL2Gbps = 2155.0;
constexpr double kHbmGbps = 900.0;
constexpr std::uint64_t kSectorBytes = 32;

double sm_cycles_ms(std::uint64_t cycles) {
  return static_cast<double>(cycles) / kSmCount / (kClockMhz * 1e3);
}

double sub_partition_cycles_ms(std::uint64_t cycles) {
  return sm_cycles_ms(cycles) / kSubPartitions;
}

double transfer_ms(std::uint64_t bytes, double gbps) {
  return static_cast<double>(bytes) / (gbps * 1e6);
}

std::uint64_t issue_slots(const Counters& c) {
  return kFp32AccIssueSlots * (c.mma_m8n8k4 - c.mma_fp16acc) + kFp16AccIssueSlots * c.mma_fp16acc +
         c.mufu + c.half_conversions + c.half_widenings + c.fma + c.shuffles + c.barriers +
         c.shared_loads + c.shared_stores + c.global_loads + c.global_stores + c.global_atomics;
}

ResourceMs least_times(const Counters& c, std::uint64_t bytes) {
  const std::uint64_t sectors =
      c.global_sectors_read + c.global_sectors_written + c.global_sectors_added;
  return {
      .tensor =
          sub_partition_cycles_ms(kMmaCycles * c.mma_m8n8k4 + kWideningCycles * c.half_widenings),
      .issue = sub_partition_cycles_ms(issue_slots(c)),
      .lsu = sm_cycles_ms(c.shared_wavefronts + c.shuffles + c.global_wavefronts),
      .xu = sub_partition_cycles_ms(kXuCycles * (c.mufu + c.half_conversions)),
      .l2 = transfer_ms(kSectorBytes * sectors, kL2Gbps),
      .hbm = transfer_ms(bytes, kHbmGbps),
  };
}

}  // namespace

Bound volta_bound(const Counters& counters, std::uint64_t flops, std::uint64_t bytes) {
  const ResourceMs least = least_times(counters, bytes);
  const std::array<std::pair<double, Resource>, 6> by_time = {{{least.tensor, Resource::kTensor},
                                                               {least.issue, Resource::kIssue},
                                                               {least.lsu, Resource::kLsu},
                                                               {least.xu, Resource::kXu},
                                                               {least.l2, Resource::kL2},
                                                               {least.hbm, Resource::kHbm}}};
  const auto [longest_ms, binding] = *std::max_element(by_time.begin(), by_time.end());
  Bound bound;
  bound.chip = "V100-SXM2";
  bound.sm_count = kSmCount;
  bound.clock_mhz = kClockMhz;
  bound.least_ms = least;
  bound.binding = binding;
  bound.tflops = static_cast<double>(flops) / longest_ms * 1e-9;
  return bound;
}

}  // namespace sparkbench
