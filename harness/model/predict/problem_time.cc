#include "harness/model/predict/problem_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace sparkbench {
namespace {

constexpr double kCyclesPerMsAndMhz = 1e3;
constexpr double kBytesPerMsAndGbps = 1e6;
constexpr int kPhases = 2;  // of a block: it moves its bytes, and it computes

double ms_of_cycles(double cycles, double clock_mhz) {
  return cycles / (clock_mhz * kCyclesPerMsAndMhz);
}
double ms_of_bytes(double bytes, double gbps) { return bytes / (gbps * kBytesPerMsAndGbps); }

/// Milliseconds.
struct LaunchTime {
  ThreeWays sms{}, hbm{};
  double sms_evenly = 0;  // likely, if every place of every SM were busy to the end
  double l2 = 0;
  std::string sms_binding;

  ThreeWays exposed{};  // of the shorter of SM and HBM time: exposed_share()

  double total(double ThreeWays::*way) const {
    return std::max({sms.*way, hbm.*way, l2}) + exposed.*way * std::min(sms.*way, hbm.*way) +
           kLaunchMs;
  }
  std::string binding() const {
    if (std::max(hbm.likely, l2) >= sms.likely) return hbm.likely >= l2 ? "hbm" : "l2";
    return sms_evenly < sms.likely / 2 ? "last wave" : sms_binding;
  }
};

const std::vector<StageCycles>& stages_under(ChipAssumption assumption,
                                             const InstanceCycles& cycles) {
  return cycles.stages.at(static_cast<std::size_t>(assumption));
}

/// `likely`: which assumption.
void time_on_sms(const PassLaunch& launch, const InstanceCycles& cycles, ChipAssumption likely,
                 int sms, LaunchTime& time) {
  const ScheduledCycles found = schedule_blocks(launch.grid, stages_under(likely, cycles), sms);
  const ScheduledCycles slowest =
      schedule_blocks(launch.grid, stages_under(ChipAssumption::kSupply8, cycles), sms);
  const ThreeWays share = share_of_model(*launch.instance, cycles);
  time.sms.fast = ms_of_cycles(found.until_end / share.fast, kBoostClockMhz);
  time.sms.likely = ms_of_cycles(found.until_end / share.likely, kSustainedClockMhz);
  time.sms.slow =
      ms_of_cycles(std::max(found.until_end / share.slow, slowest.until_end), kSustainedClockMhz);
  time.sms_evenly = ms_of_cycles(found.evenly / share.likely, kSustainedClockMhz);
  time.sms_binding = cycles.binding;
  time.exposed = exposed_share(cycles.blocks_per_sm);
}

LaunchTime time_of_memory(const PassLaunch& launch) {
  LaunchTime time;
  time.hbm = {ms_of_bytes(launch.hbm_bytes, kHbmGbps.fast),
              ms_of_bytes(launch.hbm_bytes, kHbmGbps.likely),
              ms_of_bytes(launch.hbm_bytes, kHbmGbps.slow)};
  time.l2 = ms_of_bytes(launch.l2_bytes, kL2Gbps);
  return time;
}

/// With the instance that lacks cycles by name.
PassTime without_cycles(const KernelInstance& instance) {
  PassTime none;
  none.why_not = fmt::format("no cycles of {} in kernels/volta/cycles.json", instance.id);
  return none;
}

}  // namespace

ThreeWays share_of_model(const KernelInstance& instance, const InstanceCycles& cycles) {
  const bool is_out_of_step = cycles.blocks_per_sm > 1 || instance.teams > 1;
  return is_out_of_step && cycles.loop_bytes > kL0CacheBytes ? kShareOfModelOutOfStep
                                                             : kShareOfModel;
}

ThreeWays exposed_share(int blocks_per_sm) {
  const double likely = 1.0 / std::max(kPhases, blocks_per_sm);
  return {0, likely, kPhases * likely};
}

PassTime time_of_launches(const std::vector<PassLaunch>& launches, const CyclesFile& cycles,
                          int sms) {
  PassTime pass;
  double longest = 0;
  for (const PassLaunch& launch : launches) {
    LaunchTime time = time_of_memory(launch);
    if (launch.instance != nullptr) {
      const InstanceCycles* const of_instance = cycles.find(launch.instance->id);
      const bool is_of_rows = launch.instance->products == 0;
      if (of_instance == nullptr && !is_of_rows) return without_cycles(*launch.instance);
      if (of_instance != nullptr) time_on_sms(launch, *of_instance, cycles.likely, sms, time);
    }
    pass.ms.fast += time.total(&ThreeWays::fast);
    pass.ms.likely += time.total(&ThreeWays::likely);
    pass.ms.slow += time.total(&ThreeWays::slow);
    if (time.total(&ThreeWays::likely) <= longest) continue;
    longest = time.total(&ThreeWays::likely);
    pass.binding = time.binding();
  }
  if (kLaunchMs * static_cast<double>(launches.size()) > pass.ms.likely / 2) {
    pass.binding = "launch";
  }
  return pass;
}

}  // namespace sparkbench
