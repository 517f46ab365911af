// What is not known of a V100, ordered from the fastest assumption to the slowest.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/sm/machine_constants.h"

namespace sparkbench {

/// Each holds all that the ones before it hold. (A) is measured on a V100; nobody has published the
/// others.
enum class ChipAssumption {
  kForwarded,  // (A) an HMMA's accumulator is forwarded to the next one
  kNoReuse,    // and an HMMA with neither operand in the reuse cache takes one cycle more
  kSupply16,   // and instructions beyond the L0 cache arrive at 16 bytes a clock and scheduler
  kSupply8,    // at 8 bytes
};
inline constexpr int kChipAssumptions = 4;

/// "forwarded", "no-reuse", "supply-16", "supply-8"
std::string_view name_of(ChipAssumption assumption);

std::optional<ChipAssumption> chip_assumption_named(std::string_view name);

/// All of them, the fastest first.
std::vector<std::string> chip_assumption_names();

/// `constants` with what the assumption says of the chip.
SmConstants with_assumption(SmConstants constants, ChipAssumption assumption);

}  // namespace sparkbench
