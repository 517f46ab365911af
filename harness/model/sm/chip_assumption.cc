#include "harness/model/sm/chip_assumption.h"

#include <algorithm>
#include <array>

namespace sparkbench {
namespace {

constexpr std::array<std::string_view, kChipAssumptions> kAssumptionNames = {
    "forwarded", "no-reuse", "supply-16", "supply-8"};

/// Clocks from a request for a line of code to its arrival, where the supply is limited.
constexpr int kSupplyLatency = 20;

}  // namespace

std::string_view name_of(ChipAssumption assumption) {
  return kAssumptionNames[static_cast<std::size_t>(assumption)];
}

std::optional<ChipAssumption> chip_assumption_named(std::string_view name) {
  const auto found = std::find(kAssumptionNames.begin(), kAssumptionNames.end(), name);
  if (found == kAssumptionNames.end()) return std::nullopt;
  return static_cast<ChipAssumption>(found - kAssumptionNames.begin());
}

std::vector<std::string> chip_assumption_names() {
  return {kAssumptionNames.begin(), kAssumptionNames.end()};
}

SmConstants with_assumption(SmConstants constants, ChipAssumption assumption) {
  if (assumption == ChipAssumption::kForwarded) return constants;
  constants.hmma_no_reuse = 1;
  if (assumption == ChipAssumption::kNoReuse) return constants;
  constants.scheduler_fetch_bytes = assumption == ChipAssumption::kSupply16 ? 16 : 8;
  constants.l0_miss_latency = kSupplyLatency;
  return constants;
}

}  // namespace sparkbench
