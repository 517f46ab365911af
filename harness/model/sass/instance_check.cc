#include "harness/model/sass/kernel_inspection.h"

#include <fmt/core.h>

#include <algorithm>

#include "kernels/registry.h"
#include "sweeps/names.h"

namespace sparkbench {
namespace {

constexpr int kTuring = 75;  // launches no such kernel: kernels/volta/compiled_kernel.cuh

}  // namespace

std::vector<std::string> misplaced_instances(std::span<const KernelInspection> kernels, int sm,
                                             std::string_view glob) {
  std::vector<std::string> lines;
  for (const KernelInstance& instance : kernel_instances()) {
    if (!is_compiled_for(instance.instruction, sm)) continue;
    if (!glob_matches(glob, instance.id) && !glob_matches(glob, instance.kernel())) continue;
    const auto kernel = std::find_if(kernels.begin(), kernels.end(), [&](const auto& each) {
      return each.sm == sm && each.symbol == instance.symbol;
    });
    if (kernel == kernels.end()) {
      lines.push_back(fmt::format("sm_{} has no {}", sm, instance.id));
      continue;
    }
    if (sm == kTuring && instance.blocks != BlockSource::kDense) continue;
    const bool belongs = instance.products > 0 && is_native(instance.instruction, sm);
    if (belongs == (kernel->tensor_instructions > 0)) continue;
    lines.push_back(fmt::format("sm_{}: {} has {} tensor instructions, allowed: {}", sm,
                                instance.id, kernel->tensor_instructions,
                                belongs ? "at least 1" : "0"));
  }
  return lines;
}

}  // namespace sparkbench
