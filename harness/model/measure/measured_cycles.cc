#include "harness/model/measure/measured_cycles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/model/measure/instance_measurement.h"
#include "harness/model/measure/specimen.h"
#include "harness/model/predict/v100_constants.h"
#include "harness/model/sass/kernel_resources.h"
#include "harness/model/sass/occupancy.h"
#include "kernels/registry.h"
#include "reference/parallel.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// The file has cycles to a hundredth.
constexpr double kRounding = 0.006;

bool does_the_same(const KernelInstance& a, const KernelInstance& b) {
  return a.kernel() == b.kernel() && a.pass() == b.pass() && a.head_dim == b.head_dim &&
         a.is_padded() == b.is_padded() && a.has_dropout == b.has_dropout && a.blocks == b.blocks &&
         a.short_window == b.short_window && a.relays_dq == b.relays_dq && a.products == b.products;
}

const SassFunction& function_of(std::span<const SassFunction> functions,
                                const KernelInstance& instance) {
  for (const SassFunction& function : functions) {
    if (function.sm == kModelledSm && function.symbol == instance.symbol) return function;
  }
  throw UsageError(
      fmt::format("--binary: no code of {} for sm_{}; allowed: a build with "
                  "CMAKE_CUDA_ARCHITECTURES={}",
                  instance.id, kModelledSm, kModelledSm));
}

int blocks_per_sm(const KernelInstance& instance, const KernelResources& resources) {
  const auto occupancy =
      occupancy_of(kModelledSm, resources.registers,
                   resources.shared_bytes + instance.dynamic_shared_bytes, instance.threads);
  if (!occupancy || occupancy->blocks == 0) {
    throw UsageError(
        fmt::format("--binary: a block of {} does not fit an SM of sm_{}; allowed: "
                    "code with fewer registers",
                    instance.id, kModelledSm));
  }
  return occupancy->blocks;
}

/// Empty where the cycles are the same but for the file's rounding.
std::string difference_of(const InstanceCycles& held, const InstanceCycles& measured) {
  if (held.code_hash != measured.code_hash) return "its machine code is another";
  if (held.blocks_per_sm != measured.blocks_per_sm) return "an SM holds another number of blocks";
  if (held.threads != measured.threads || held.loop_bytes != measured.loop_bytes ||
      held.binding != measured.binding) {
    return "its threads, the bytes of its loop, or what binds it are others";
  }
  for (int assumption = 0; assumption < kChipAssumptions; ++assumption) {
    for (int resident = 0; resident < held.blocks_per_sm; ++resident) {
      const StageCycles& a = held.stages[assumption][resident];
      const StageCycles& b = measured.stages[assumption][resident];
      for (const auto stage :
           {&StageCycles::prologue, &StageCycles::full_tile, &StageCycles::cut_tile,
            &StageCycles::epilogue, &StageCycles::next_head, &StageCycles::more_part,
            &StageCycles::idle_part}) {
        if (std::abs(a.*stage - b.*stage) <= kRounding) continue;
        return fmt::format("{}, {} resident: {:.2f} cycles, where the file has {:.2f}",
                           name_of(static_cast<ChipAssumption>(assumption)), resident + 1, b.*stage,
                           a.*stage);
      }
    }
  }
  return {};
}

}  // namespace

std::vector<const KernelInstance*> v100_instances() {
  std::vector<const KernelInstance*> chosen;
  for (const KernelInstance& instance : kernel_instances()) {
    if (!is_native(instance.instruction, kModelledSm)) continue;
    const bool fits = static_cast<std::size_t>(instance.dynamic_shared_bytes) <= kV100SharedBytes;
    const bool is_first = std::none_of(
        chosen.begin(), chosen.end(),
        [&](const KernelInstance* earlier) { return does_the_same(*earlier, instance); });
    if (fits && is_first && has_tiles(instance)) chosen.push_back(&instance);
  }
  return chosen;
}

CyclesFile measure_cycles(const CodeListings& code, std::span<const KernelInstance* const> wanted,
                          const std::string& toolkit) {
  const std::vector<SassFunction> functions = parse_sass_listing(code.sass);
  const std::vector<ResourceUsage> usages = parse_resource_usage(code.usage);
  CyclesFile file{.toolkit = toolkit, .instances = std::vector<InstanceCycles>(wanted.size())};
  parallel_for(wanted.size(), [&](std::size_t i) {
    const KernelInstance& instance = *wanted[i];
    const SassFunction& function = function_of(functions, instance);
    const KernelResources& resources = resources_of(usages, function.symbol, function.sm);
    file.instances[i] = measure_instance(function, instance, blocks_per_sm(instance, resources));
  });
  return file;
}

CyclesFile with_measured(CyclesFile held, const CyclesFile& measured) {
  std::erase_if(held.instances, [&](const InstanceCycles& instance) {
    return measured.find(instance.id) != nullptr;
  });
  held.instances.insert(held.instances.end(), measured.instances.begin(), measured.instances.end());
  return held;
}

std::vector<std::string> cycles_that_differ(const CyclesFile& held, const CyclesFile& measured,
                                            std::span<const KernelInstance* const> wanted) {
  std::vector<std::string> lines;
  for (const KernelInstance* instance : wanted) {
    const InstanceCycles* const a = held.find(instance->id);
    const std::string why =
        a == nullptr ? "the file lacks it" : difference_of(*a, *measured.find(instance->id));
    if (!why.empty()) lines.push_back(fmt::format("{}: {}", instance->id, why));
  }
  return lines;
}

}  // namespace sparkbench
