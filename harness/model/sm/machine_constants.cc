#include "harness/model/sm/machine_constants.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "sweeps/names.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

using C = SmConstants;
constexpr double kLongest = 100000;  // of a time; beyond any that a machine has
constexpr double kMostHold = 1000;   // of a port

constexpr ConstantInfo kConstantInfos[] = {
    {"scheduler", &C::scheduler, 0, 2, std::pair{0.0, 2.0}},
    {"hmma_f32_latency", &C::hmma_f32_latency, 1, kLongest, std::pair{8.0, 20.0}},
    {"hmma_f16_latency", &C::hmma_f16_latency, 1, kLongest, std::pair{12.0, 24.0}},
    {"fp16_latency", &C::fp16_latency, 1, kLongest, {}},
    {"fp64_latency", &C::fp64_latency, 1, kLongest, {}},
    {"fma_latency", &C::fma_latency, 1, kLongest, {}},
    {"alu_latency", &C::alu_latency, 1, kLongest, {}},
    {"xu_latency", &C::xu_latency, 1, kLongest, std::pair{14.0, 30.0}},
    {"shfl_latency", &C::shfl_latency, 1, kLongest, std::pair{20.0, 30.0}},
    {"lds_latency", &C::lds_latency, 1, kLongest, std::pair{19.0, 32.0}},
    {"sts_latency", &C::sts_latency, 1, kLongest, {}},
    {"atoms_latency", &C::atoms_latency, 1, kLongest, {}},
    {"ldg_latency", &C::ldg_latency, 1, kLongest, std::pair{190.0, 500.0}},
    {"stg_latency", &C::stg_latency, 1, kLongest, {}},
    {"atomg_latency", &C::atomg_latency, 1, kLongest, {}},
    {"ldl_latency", &C::ldl_latency, 1, kLongest, std::pair{28.0, 200.0}},
    {"ldc_latency", &C::ldc_latency, 1, kLongest, {}},
    {"s2r_latency", &C::s2r_latency, 1, kLongest, {}},
    {"membar_latency", &C::membar_latency, 1, kLongest, {}},
    {"control_latency", &C::control_latency, 1, kLongest, {}},
    {"bar_latency", &C::bar_latency, 1, kLongest, std::pair{8.0, 32.0}},
    {"hmma_f32_hold", &C::hmma_f32_hold, 1, kMostHold, {}},
    {"hmma_f16_hold", &C::hmma_f16_hold, 1, kMostHold, {}},
    {"fp16_hold", &C::fp16_hold, 1, kMostHold, {}},
    {"fp64_hold", &C::fp64_hold, 1, kMostHold, {}},
    {"fma_hold", &C::fma_hold, 1, kMostHold, {}},
    {"alu_hold", &C::alu_hold, 1, kMostHold, {}},
    {"xu_hold", &C::xu_hold, 1, kMostHold, {}},
    {"bank_conflict", &C::bank_conflict, 0, kMostHold, {}},
    {"hmma_no_reuse", &C::hmma_no_reuse, 0, kMostHold, std::pair{0.0, 1.0}},
    {"hmma_f32_forward", &C::hmma_f32_forward, 1, kLongest, {}},
    {"hmma_f16_forward", &C::hmma_f16_forward, 1, kLongest, {}},
    {"read_release_fixed", &C::read_release_fixed, 0, kLongest, {}},
    {"branch_taken", &C::branch_taken, 1, kLongest, std::pair{5.0, 16.0}},
    {"mio_queue", &C::mio_queue, 1, 1000, std::pair{3.0, 12.0}},
    {"mio_interval", &C::mio_interval, 1, kLongest, std::pair{2.0, 5.0}},
    {"mio_min_latency", &C::mio_min_latency, 1, kLongest, {}},
    {"mio_read_release", &C::mio_read_release, 1, kLongest, std::pair{4.0, 14.0}},
    {"smem_bytes", &C::smem_bytes, 1, 4096, {}},
    {"l2_bytes", &C::l2_bytes, 0.01, 100000, std::pair{6.9, 25.0}},
    {"icache_bytes", &C::icache_bytes, 512, 1 << 30, {}},
    {"icache_line", &C::icache_line, 16, 128, {}},
    {"fetch_ahead", &C::fetch_ahead, 0, 16, {}},
    {"l0_miss_next", &C::l0_miss_next, 0, kLongest, std::pair{0.0, 8.0}},
    {"l0_miss_jump", &C::l0_miss_jump, 0, kLongest, std::pair{0.0, 60.0}},
    {"sm_fetch_bytes", &C::sm_fetch_bytes, 0, 100000, {}},
    {"scheduler_fetch_bytes", &C::scheduler_fetch_bytes, 0, 100000, {}},
    {"l0_miss_latency", &C::l0_miss_latency, 0, kLongest, {}},
};

/// Clocks from a request for a line of code to its arrival, where the supply is limited.
constexpr int kSupplyLatency = 20;

bool is_allowed(const ConstantInfo& info, double value) {
  const bool is_whole = std::holds_alternative<int C::*>(info.member);
  return value >= info.least && value <= info.most && (!is_whole || value == std::floor(value));
}

const ConstantInfo& constant_named(std::string_view flag, std::string_view name) {
  std::vector<std::string> known;
  for (const ConstantInfo& info : kConstantInfos) {
    if (info.name == name) return info;
    known.emplace_back(info.name);
  }
  throw UsageError(unknown_name_message(flag, name, known));
}

}  // namespace

std::span<const ConstantInfo> constant_infos() { return kConstantInfos; }

double value_of(const SmConstants& constants, const ConstantInfo& info) {
  return std::visit([&](auto member) { return static_cast<double>(constants.*member); },
                    info.member);
}

void set_value(SmConstants& constants, const ConstantInfo& info, double value) {
  if (const auto* whole = std::get_if<int C::*>(&info.member)) {
    constants.** whole = static_cast<int>(value);
  } else {
    constants.*std::get<double C::*>(info.member) = value;
  }
}

void set_constant(SmConstants& constants, std::string_view flag, const std::string& assignment) {
  const std::size_t sign = assignment.find('=');
  if (sign == std::string::npos) {
    throw UsageError(
        fmt::format("{}: '{}' is no NAME=VALUE; allowed: ldg_latency=300", flag, assignment));
  }
  const ConstantInfo& info = constant_named(flag, assignment.substr(0, sign));
  const std::string text = assignment.substr(sign + 1);
  double value = 0.0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || !is_allowed(info, value)) {
    const bool is_whole = std::holds_alternative<int C::*>(info.member);
    throw UsageError(fmt::format("{}: '{}' is no value for {}; allowed: {} {:g} to {:g}", flag,
                                 text, info.name, is_whole ? "a whole number" : "a number",
                                 info.least, info.most));
  }
  set_value(constants, info, value);
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
