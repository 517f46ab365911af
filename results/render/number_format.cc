#include "results/render/number_format.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sparkbench {

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  if (value == 0.0) return "0";
  if (std::abs(value) < 1e-4) return fmt::format("{:.{}e}", value, digits - 1);
  // Rounding may carry into the next digit (9.996 to 10.0), so the exponent is read after rounding.
  const std::string rounded = fmt::format("{:.{}e}", value, digits - 1);
  const int exponent = std::stoi(rounded.substr(rounded.find('e') + 1));
  return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
}

std::string scientific(double value, int digits) {
  if (!std::isfinite(value) || value == 0.0) return significant(value, digits);
  return fmt::format("{:.{}e}", value, digits - 1);
}

std::string format_memory(std::uint64_t bytes) {
  static constexpr std::array<const char*, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                        "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{} {}", significant(value, 3), kUnits[unit]);
}

std::string plural(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace sparkbench
