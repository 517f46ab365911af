#include "results/record/enum_names.h"

#include <fmt/core.h>

#include <array>
#include <stdexcept>

namespace sparkbench {
namespace {

/// Names in the order of the enumerators.
constexpr std::array<std::string_view, 2> kAccumulators = {"fp16", "fp32"};
constexpr std::array<std::string_view, 2> kRoles = {"fused", "reference"};
constexpr std::array<std::string_view, 6> kStatuses = {"ok",     "incorrect",  "skipped",
                                                       "failed", "unverified", "predicted"};
constexpr std::array<std::string_view, 2> kDeviceKinds = {"gpu", "emulated"};

template <std::size_t kCount, class Enum>
void parse(std::string_view name, const std::array<std::string_view, kCount>& names, Enum& value) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (names[i] != name) continue;
    value = static_cast<Enum>(i);
    return;
  }
  throw std::invalid_argument(fmt::format("unknown name '{}'", name));
}

}  // namespace

std::string_view name_of(Accumulator value) {
  return kAccumulators.at(static_cast<std::size_t>(value));
}
std::string_view name_of(Role value) { return kRoles.at(static_cast<std::size_t>(value)); }
std::string_view name_of(Status value) { return kStatuses.at(static_cast<std::size_t>(value)); }
std::string_view name_of(DeviceKind value) {
  return kDeviceKinds.at(static_cast<std::size_t>(value));
}

void parse_name(std::string_view name, Accumulator& value) { parse(name, kAccumulators, value); }
void parse_name(std::string_view name, Role& value) { parse(name, kRoles, value); }
void parse_name(std::string_view name, Status& value) { parse(name, kStatuses, value); }
void parse_name(std::string_view name, DeviceKind& value) { parse(name, kDeviceKinds, value); }

}  // namespace sparkbench
