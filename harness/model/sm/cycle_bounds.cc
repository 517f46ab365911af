#include "harness/model/sm/cycle_bounds.h"

#include <algorithm>
#include <array>

namespace sparkbench {
namespace {

constexpr std::array<std::string_view, 9> kUnitNames = {
    "tensor", "tensor port", "issue", "fp32", "alu", "xu", "lsu", "mio lanes", "l2"};

using UnitCycles = std::array<double, kUnitNames.size()>;

void add_port(const TimedInstruction& instruction, UnitCycles& cycles) {
  constexpr std::array<BoundedUnit, kPorts> kUnits = {BoundedUnit::kIssue, BoundedUnit::kTensorPort,
                                                      BoundedUnit::kFp32, BoundedUnit::kAlu,
                                                      BoundedUnit::kXu};
  const BoundedUnit unit = kUnits[static_cast<std::size_t>(instruction.port)];
  cycles[static_cast<std::size_t>(unit)] += instruction.hold;
  if (instruction.is_tensor) {
    cycles[static_cast<std::size_t>(BoundedUnit::kTensor)] += instruction.hold;
  }
}

void add_memory(const TimedInstruction& instruction, const SmConstants& constants,
                UnitCycles& cycles) {
  const auto add = [&](BoundedUnit unit, double more) {
    cycles[static_cast<std::size_t>(unit)] += more;
  };
  if (!uses_data_path(instruction.timing_class)) return;
  add(BoundedUnit::kLsu, instruction.wavefronts);
  add(BoundedUnit::kMioLanes, constants.mio_interval);
  if (goes_to_l2(instruction.timing_class)) {
    add(BoundedUnit::kL2, instruction.bytes / constants.l2_bytes);
  }
}

UnitCycles cycles_of(const WarpPath& path, const TimedCode& code) {
  UnitCycles cycles{};
  for (const PathStep& step : path) {
    const TimedInstruction& instruction = code.instructions[step.instruction];
    ++cycles[static_cast<std::size_t>(BoundedUnit::kIssue)];
    if (!step.is_executed || instruction.is_never_executed) continue;
    if (instruction.port != Port::kNone) add_port(instruction, cycles);
    add_memory(instruction, code.constants, cycles);
  }
  return cycles;
}

/// Whether all schedulers share it.
bool is_of_sm(BoundedUnit unit) { return unit == BoundedUnit::kLsu || unit == BoundedUnit::kL2; }

}  // namespace

std::string_view name_of(BoundedUnit unit) { return kUnitNames[static_cast<std::size_t>(unit)]; }

std::vector<CycleBound> cycle_bounds(const TimedCode& code,
                                     const std::vector<const BlockPaths*>& blocks) {
  std::array<UnitCycles, kSchedulers> schedulers{};
  int warp = 0;
  for (const BlockPaths* block : blocks) {
    for (const WarpPath& path : *block) {
      const UnitCycles cycles = cycles_of(path, code);
      UnitCycles& sum = schedulers[warp++ % kSchedulers];
      for (std::size_t unit = 0; unit < sum.size(); ++unit) sum[unit] += cycles[unit];
    }
  }
  std::vector<CycleBound> bounds;
  for (std::size_t i = 0; i < kUnitNames.size(); ++i) {
    const auto unit = static_cast<BoundedUnit>(i);
    double most = 0.0, sum = 0.0;
    for (const UnitCycles& cycles : schedulers) {
      most = std::max(most, cycles[i]);
      sum += cycles[i];
    }
    if (sum > 0) bounds.push_back({unit, is_of_sm(unit) ? sum : most});
  }
  std::stable_sort(bounds.begin(), bounds.end(),
                   [](const auto& one, const auto& other) { return one.cycles > other.cycles; });
  return bounds;
}

}  // namespace sparkbench
