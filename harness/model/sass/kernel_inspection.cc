#include "harness/model/sass/kernel_inspection.h"

#include <algorithm>
#include <tuple>

#include "harness/model/predict/v100_constants.h"
#include "harness/model/sass/function_name.h"
#include "harness/model/sass/mask_code.h"
#include "harness/model/sass/tensor_loops.h"
#include "kernels/registry.h"

namespace sparkbench {
namespace {

constexpr std::uint32_t kInstructionBytes = 16;

int count(const SassFunction& function, InstructionClass value) {
  return static_cast<int>(std::count_if(
      function.instructions.begin(), function.instructions.end(),
      [value](const SassInstruction& instruction) { return classify(instruction) == value; }));
}

/// All products of an iteration do equal work, and one computes the scores, 2 head_dim FLOP each.
double scores_of(const TensorLoop& loop, const KernelInstance& instance) {
  return static_cast<double>(loop.tensor_flop) / instance.products / (2 * instance.head_dim);
}

LoopInspection inspect_loop(const SassFunction& function, const TensorLoop& loop,
                            const KernelInspection& kernel) {
  LoopInspection inspection{
      .first_address = function.instructions[loop.first].address,
      .last_address = function.instructions[loop.last].address,
      .end_address = function.instructions[loop.last].address + kInstructionBytes,
      .instructions = loop.instructions,
      .mix = count_mix(function, loop.path),
      .masks = loop.masks};
  inspection.caps = caps_of(inspection.mix);
  if (kernel.instance && kernel.instance->products > 0) {
    const int warps = kernel.instance->threads / 32;
    inspection.scores = scores_of(loop, *kernel.instance);
    inspection.columns = *inspection.scores * warps / kernel.instance->block_rows;
  }
  return inspection;
}

std::optional<Occupancy> occupancy_of_kernel(const KernelInspection& kernel) {
  if (!kernel.instance) return std::nullopt;
  return occupancy_of(kernel.sm, kernel.resources.registers,
                      kernel.resources.shared_bytes + kernel.instance->dynamic_shared_bytes,
                      kernel.instance->threads);
}

void inspect_loops(const SassFunction& function, KernelInspection& kernel) {
  const bool zero_masks = kernel.instance && !kernel.instance->has_dropout;
  const std::vector<bool> is_mask = find_mask_code(function, zero_masks);
  kernel.masks = static_cast<int>(std::count(is_mask.begin(), is_mask.end(), true));
  for (const TensorLoop& loop : find_tensor_loops(function, is_mask)) {
    kernel.loops.push_back(inspect_loop(function, loop, kernel));
  }
  if (kernel.main_loop() != nullptr) kernel.gates = judge(kernel);
}

bool is_of_interest(const KernelInspection& kernel) {
  return kernel.sm != kModelledSm || kernel.instance || kernel.main_loop() != nullptr;
}

}  // namespace

KernelInspection inspect_kernel(const SassFunction& function, const KernelResources& resources) {
  const std::string name = demangled(function.symbol);
  KernelInspection kernel{.name = short_name(name),
                          .symbol = function.symbol,
                          .function = name,
                          .sm = function.sm,
                          .resources = resources,
                          .instructions = static_cast<int>(function.instructions.size()),
                          .local_accesses = count(function, InstructionClass::kLocal),
                          .tensor_instructions = count(function, InstructionClass::kTensor)};
  if (const KernelInstance* const instance = find_kernel_instance(function.symbol)) {
    kernel.name = instance->id;
    kernel.instance = *instance;
  }
  kernel.occupancy = occupancy_of_kernel(kernel);
  if (kernel.sm == kModelledSm) inspect_loops(function, kernel);
  return kernel;
}

std::vector<KernelInspection> inspect_listings(std::string_view sass, std::string_view usage) {
  const std::vector<ResourceUsage> usages = parse_resource_usage(usage);
  std::vector<KernelInspection> kernels;
  for (const SassFunction& function : parse_sass_listing(sass)) {
    KernelInspection kernel =
        inspect_kernel(function, resources_of(usages, function.symbol, function.sm));
    if (is_of_interest(kernel)) kernels.push_back(std::move(kernel));
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const KernelInspection& a, const KernelInspection& b) {
                     return std::tie(a.sm, a.name) < std::tie(b.sm, b.name);
                   });
  return kernels;
}

}  // namespace sparkbench
