// What integer division asks of floating point: conversions, and a reciprocal of the hardware's
// bits.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "harness/model/flow/operation.h"
#include "kernels/machine/emulated/special_functions/reciprocal.h"

namespace sparkbench {
namespace {

using Operands = OperationOperands;

bool has_any(const Operands& operands, std::initializer_list<Modifier> modifiers) {
  return std::any_of(modifiers.begin(), modifiers.end(),
                     [&](Modifier modifier) { return operands.has(modifier); });
}

/// A double that a 32-bit integer fits in, as a float of the wanted rounding.
float rounded_to_float(const Operands& operands, double exact) {
  const auto nearest = static_cast<float>(exact);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool is_down = operands.has(Modifier::kRm) || (operands.has(Modifier::kRz) && exact > 0);
  const bool is_up = operands.has(Modifier::kRp) || (operands.has(Modifier::kRz) && exact < 0);
  if (is_down && nearest > exact) return std::nextafter(nearest, -kInfinity);
  if (is_up && nearest < exact) return std::nextafter(nearest, kInfinity);
  return nearest;
}

void run_i2f(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  if (has_any(operands, {Modifier::kU64, Modifier::kS64, Modifier::kF64, Modifier::kF16,
                         Modifier::kU8, Modifier::kS8, Modifier::kU16, Modifier::kS16})) {
    return forget_results(state, operands, lanes);
  }
  LaneWords scratch;
  LaneWords words = state.read(operands.sources[0], scratch);
  const bool is_signed = !operands.has(Modifier::kU32);
  for (std::uint32_t& word : words.value) {
    const double exact = is_signed ? static_cast<std::int32_t>(word) : word;
    word = std::bit_cast<std::uint32_t>(rounded_to_float(operands, exact));
  }
  state.write(operands.destination.first, words, lanes);
}

double rounded_to_integer(const Operands& operands, double value) {
  if (operands.has(Modifier::kTrunc)) return std::trunc(value);
  if (operands.has(Modifier::kFloor)) return std::floor(value);
  return operands.has(Modifier::kCeil) ? std::ceil(value) : std::nearbyint(value);
}

/// Out of range is the end of the range; not a number is zero.
std::uint32_t saturated(double value, bool is_signed) {
  if (std::isnan(value)) return 0;
  if (is_signed) {
    return static_cast<std::uint32_t>(
        static_cast<std::int32_t>(std::clamp(value, -2147483648.0, 2147483647.0)));
  }
  return static_cast<std::uint32_t>(std::clamp(value, 0.0, 4294967295.0));
}

void run_f2i(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  if (has_any(operands, {Modifier::kU64, Modifier::kS64, Modifier::kF64, Modifier::kF16,
                         Modifier::kU8, Modifier::kS8, Modifier::kU16, Modifier::kS16})) {
    return forget_results(state, operands, lanes);
  }
  LaneWords scratch;
  LaneWords words = state.read(operands.sources[0], scratch);
  for (std::uint32_t& word : words.value) {
    const double value = rounded_to_integer(operands, std::bit_cast<float>(word));
    word = saturated(value, !operands.has(Modifier::kU32));
  }
  state.write(operands.destination.first, words, lanes);
}

/// Others than the reciprocal decide no branch of an integer.
void run_mufu(WarpValues& state, const Operands& operands, const ActiveLanes& lanes) {
  if (!operands.has(Modifier::kRcp)) return forget_results(state, operands, lanes);
  LaneWords scratch;
  LaneWords words = state.read(operands.sources[0], scratch);
  for (std::uint32_t& word : words.value) {
    word = std::bit_cast<std::uint32_t>(reciprocal_approx_ftz(std::bit_cast<float>(word)));
  }
  state.write(operands.destination.first, words, lanes);
}

constexpr Operation kConversions[] = {{"I2F", run_i2f}, {"F2I", run_f2i}, {"MUFU", run_mufu}};

}  // namespace

std::span<const Operation> conversion_operations() { return kConversions; }

}  // namespace sparkbench
