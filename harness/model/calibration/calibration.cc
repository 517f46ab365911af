#include "harness/model/calibration/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>

#include "harness/model/predict/v100_constants.h"

namespace sparkbench {
namespace {

constexpr int kInstructionBytes = 16;  // from sm_70 on
constexpr double kNearlyFullRate = 0.9;
/// Beyond it a V100's larger instruction cache (128 KB, Jia et al., 1804.06826) may be the limit.
constexpr int kMostSupplyBytes = 96 * 1024;
constexpr double kCostsACycle = 0.5;  // halfway between none and one
constexpr double kHalfwayBytes = 12;  // between 8 and 16 bytes a clock

constexpr std::array<std::string_view, kCodeSharings> kSharingNames = {"one warp", "two warps",
                                                                       "two warps, own code"};

const Spread& require_positive(const Spread& spread, std::string_view what) {
  const bool is_in_order = spread.min <= spread.median && spread.median <= spread.max;
  if (spread.min > 0 && is_in_order) return spread;
  throw std::invalid_argument(fmt::format("the reading of {} is no positive number", what));
}

const Spread& product_cycles(const CalibrationReadings& readings, bool is_fresh, int warps) {
  const std::string what =
      fmt::format("products with {} operands, {} warps", is_fresh ? "fresh" : "reused", warps);
  for (const ProductReading& reading : readings.products) {
    if (reading.has_fresh_operands == is_fresh && reading.warps_per_scheduler == warps) {
      return require_positive(reading.cycles, what);
    }
  }
  throw std::invalid_argument("the reading of " + what + " is missing");
}

Spread cost_of_fresh_operands(const CalibrationReadings& readings, int warps) {
  const Spread& fresh = product_cycles(readings, true, warps);
  const Spread& reused = product_cycles(readings, false, warps);
  return {fresh.median - reused.median, fresh.min - reused.max, fresh.max - reused.min};
}

/// By the bytes of code.
std::vector<CodeReading> readings_of(const CalibrationReadings& readings, CodeSharing sharing) {
  std::vector<CodeReading> found;
  for (const CodeReading& reading : readings.code) {
    if (reading.sharing != sharing) continue;
    require_positive(reading.instructions_per_clock, "code");
    found.push_back(reading);
  }
  if (found.size() < 2) {
    throw std::invalid_argument(fmt::format("code has too few readings of {}", name_of(sharing)));
  }
  std::sort(found.begin(), found.end(),
            [](const CodeReading& a, const CodeReading& b) { return a.code_bytes < b.code_bytes; });
  return found;
}

Spread in_bytes(const Spread& instructions) {
  return {kInstructionBytes * instructions.median, kInstructionBytes * instructions.min,
          kInstructionBytes * instructions.max};
}

CodeSupply supply_of(const CalibrationReadings& readings, CodeSharing sharing) {
  const std::vector<CodeReading> code = readings_of(readings, sharing);
  const auto rate = [](const CodeReading& reading) {
    return reading.instructions_per_clock.median;
  };
  const auto is_slower = [&](const CodeReading& a, const CodeReading& b) {
    return rate(a) < rate(b);
  };
  // In the smallest loop the jump back takes a share of the time.
  const auto fastest = std::max_element(code.begin(), code.end(), is_slower);
  const auto beyond = std::find_if(fastest, code.end(), [&](const CodeReading& reading) {
    return rate(reading) < kNearlyFullRate * rate(*fastest);
  });
  const int full_rate_bytes = std::prev(beyond)->code_bytes;
  const auto slowest_from = [&](auto first, auto last) {
    return in_bytes(std::min_element(first, last, is_slower)->instructions_per_clock);
  };
  if (beyond == code.end()) {
    return {full_rate_bytes, false, slowest_from(fastest, code.end())};
  }
  const auto too_large = std::find_if(beyond + 1, code.end(), [](const CodeReading& reading) {
    return reading.code_bytes > kMostSupplyBytes;
  });
  return {full_rate_bytes, true, slowest_from(beyond, too_large)};
}

const CodeSupply& own_code(const CalibrationFindings& findings) {
  return findings.supply[static_cast<int>(CodeSharing::kTwoWarpsOwnCode)];
}

bool costs_a_cycle(const CalibrationFindings& findings) {
  return findings.no_reuse_cycles[1].median >= kCostsACycle;
}

/// By two warps a scheduler, as the kernels have them.
ChipAssumption fitting(const CalibrationFindings& findings) {
  const CodeSupply& supply = own_code(findings);
  if (supply.is_limited) {
    return supply.bytes_per_clock.median < kHalfwayBytes ? ChipAssumption::kSupply8
                                                         : ChipAssumption::kSupply16;
  }
  return costs_a_cycle(findings) ? ChipAssumption::kNoReuse : ChipAssumption::kForwarded;
}

std::string describe(const CalibrationFindings& findings, std::string_view product) {
  const CodeSupply& supply = own_code(findings);
  const std::string code =
      supply.is_limited
          ? fmt::format(
                "code past {} KB comes to two warps that share none at {:.1f} bytes a clock",
                supply.full_rate_bytes / 1024, supply.bytes_per_clock.median)
          : fmt::format(
                "{} KB of code come to two warps that share none at the full rate of {:.1f} "
                "bytes a clock",
                supply.full_rate_bytes / 1024, supply.bytes_per_clock.median);
  return fmt::format("fresh operands cost {} {:.2f} cycles, and {}", product,
                     findings.no_reuse_cycles[1].median, code);
}

std::string sentence_of(const CalibrationFindings& findings, const std::string& product, int sm) {
  const std::string seen = describe(findings, product);
  if (!findings.fits) {
    return fmt::format(
        "With two warps a scheduler {}. This is an sm_{}: it says nothing of a V100.", seen, sm);
  }
  std::string doubt;
  if (own_code(findings).is_limited && !costs_a_cycle(findings)) {
    doubt =
        " That assumption has a cycle for fresh operands too, which was not found: it is a "
        "lower bound.";
  }
  return fmt::format("Assume {}: with two warps a scheduler {}.{}", name_of(*findings.fits), seen,
                     doubt);
}

}  // namespace

CalibrationFindings evaluate(const CalibrationReadings& readings, int sm) {
  CalibrationFindings findings;
  for (int warps : {1, 2}) {
    findings.no_reuse_cycles[warps - 1] = cost_of_fresh_operands(readings, warps);
  }
  for (int i = 0; i < kCodeSharings; ++i) {
    findings.supply[i] = supply_of(readings, static_cast<CodeSharing>(i));
  }
  if (sm == kModelledSm) findings.fits = fitting(findings);
  findings.sentence = sentence_of(findings, readings.product, sm);
  return findings;
}

std::string_view name_of(CodeSharing sharing) {
  return kSharingNames[static_cast<std::size_t>(sharing)];
}

}  // namespace sparkbench
