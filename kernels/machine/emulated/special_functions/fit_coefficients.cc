#include "kernels/machine/emulated/special_functions/fit_coefficients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

namespace sparkbench {
namespace {

/// low <= x < high.
struct Bounds {
  std::int64_t low = std::numeric_limits<std::int64_t>::min() / 2;
  std::int64_t high = std::numeric_limits<std::int64_t>::max() / 2;

  void intersect(std::int64_t other_low, std::int64_t other_high) {
    low = std::max(low, other_low);
    high = std::min(high, other_high);
  }
  bool is_empty() const { return low >= high; }
};

/// A segment's coefficients, but that c0 and the bias are one number, known within bounds.
struct Candidate {
  Bounds constant;
  std::int64_t c1, c2;
};

/// The truncated square of each offset into a segment, and the bounds of the sums there.
struct Segment {
  std::vector<std::int64_t> squares;
  std::vector<Bounds> sums;
};

/// The sums that are cut to `result`, a positive number or zero.
Bounds sums_of(float result, double finest_step, int sum_bits) {
  const float next = std::nextafter(result, std::numeric_limits<float>::infinity());
  const double step = std::max(static_cast<double>(next) - result, finest_step);
  return {static_cast<std::int64_t>(std::ldexp(result, sum_bits)),
          static_cast<std::int64_t>(std::ldexp(result + step, sum_bits))};
}

/// The constants with which every stride-th sum of the segment is within its bounds.
Bounds constants(const Segment& segment, std::int64_t c1, std::int64_t c2, std::size_t stride) {
  Bounds constant;
  for (std::size_t x = 0; x < segment.sums.size() && !constant.is_empty(); x += stride) {
    const std::int64_t rest = c1 * static_cast<std::int64_t>(x) + c2 * segment.squares[x];
    constant.intersect(segment.sums[x].low - rest, segment.sums[x].high - rest);
  }
  return constant;
}

/// The one candidate near `c1` and `c2`. Coefficients that make the largest error smallest differ
/// from the Taylor series': c2, which acts at the end of a segment most, by up to 24.
Candidate fit_segment(const Segment& segment, std::int64_t c1, std::int64_t c2) {
  std::vector<Candidate> candidates;
  for (std::int64_t near_c2 = c2 - 24; near_c2 <= c2 + 24; ++near_c2) {
    for (std::int64_t near_c1 = c1 - 4; near_c1 <= c1 + 4; ++near_c1) {
      if (constants(segment, near_c1, near_c2, 97).is_empty()) continue;
      const Bounds constant = constants(segment, near_c1, near_c2, 1);
      if (!constant.is_empty()) candidates.push_back({constant, near_c1, near_c2});
    }
  }
  if (candidates.size() != 1) {
    throw std::runtime_error(
        fmt::format("a segment has {} sets of coefficients, not one", candidates.size()));
  }
  return candidates[0];
}

Candidate fit_segment(const FittedFunction& function, const Interpolation& layout,
                      const std::vector<float>& results, std::size_t index) {
  const int offset_bits = kFractionBits - layout.segment_bits;
  const int square_shift = kSquarerBits - offset_bits;
  const std::size_t offsets = std::size_t{1} << offset_bits;
  Segment segment;
  for (std::size_t x = 0; x < offsets; ++x) {
    const bool is_skipped = function.skips_zero && index == 0 && x == 0;
    segment.squares.push_back(truncated_square(static_cast<std::uint32_t>(x) << square_shift));
    segment.sums.push_back(
        is_skipped ? Bounds{}
                   : sums_of(results[index * offsets + x], function.finest_step, layout.sum_bits));
  }
  const double f = std::ldexp(static_cast<double>(index), -layout.segment_bits);
  // One step of the offset is 2^-23, one of its square 2^(19 - 46 - 2 * square_shift).
  const int square_bits = 2 * kFractionBits + 2 * square_shift - 19;
  return fit_segment(
      segment, std::llround(std::ldexp(function.slope(f), layout.sum_bits - kFractionBits)),
      std::llround(std::ldexp(function.half_curvature(f), layout.sum_bits - square_bits)));
}

}  // namespace

const FittedFunction kExp2Function = {
    [](double f) { return std::exp2(f) * std::numbers::ln2; },
    [](double f) { return std::exp2(f) * std::numbers::ln2 * std::numbers::ln2 / 2; }, 0.0, false};
const FittedFunction kLog2Function = {
    [](double f) { return std::numbers::log2e / (1 + f); },
    [](double f) { return -std::numbers::log2e / ((1 + f) * (1 + f)) / 2; }, 0x1p-36, true};
const FittedFunction kReciprocalFunction = {
    [](double f) { return -1 / ((1 + f) * (1 + f)); },
    [](double f) { return 1 / ((1 + f) * (1 + f) * (1 + f)); }, 0.0, false};

FittedTable fit_coefficients(const FittedFunction& function, const Interpolation& layout,
                             const std::vector<float>& results) {
  if (results.size() != std::size_t{1} << kFractionBits) {
    throw std::runtime_error("coefficients are fitted to all results of a binade");
  }
  FittedTable table;
  Bounds bias;
  for (std::size_t i = 0; i < std::size_t{1} << layout.segment_bits; ++i) {
    const Candidate fitted = fit_segment(function, layout, results, i);
    const std::int64_t c0 = fitted.constant.low >> layout.c0_shift;
    const std::int64_t c0_step = c0 * (std::int64_t{1} << layout.c0_shift);
    bias.intersect(fitted.constant.low - c0_step, fitted.constant.high - c0_step);
    table.segments.push_back({static_cast<std::int32_t>(c0), static_cast<std::int32_t>(fitted.c1),
                              static_cast<std::int32_t>(fitted.c2)});
  }
  if (bias.high - bias.low != 1) {
    throw std::runtime_error(
        fmt::format("the bias is between {} and {}, not one number", bias.low, bias.high - 1));
  }
  table.bias = static_cast<std::int32_t>(bias.low);
  return table;
}

}  // namespace sparkbench
