#include "harness/inspect/instance_check.h"

#include <gtest/gtest.h>

#include "kernels/registry.h"

namespace sparkbench {
namespace {

/// Every instance as it should be for `sm`.
std::vector<KernelInspection> sound_build(int sm) {
  std::vector<KernelInspection> kernels;
  for (const KernelInstance& instance : kernel_instances()) {
    KernelInspection& kernel = kernels.emplace_back();
    kernel.symbol = instance.symbol;
    kernel.sm = sm;
    const bool is_tensor = instance.products > 0 && is_native(instance.instruction, sm);
    kernel.tensor_instructions = is_tensor ? 8 : 0;
  }
  return kernels;
}

using Lines = std::vector<std::string>;

TEST(InstanceCheck, FindsNothingInASoundBuild) {
  for (const int sm : {70, 80}) EXPECT_EQ(misplaced_instances(sound_build(sm), sm), Lines{});
}

TEST(InstanceCheck, NamesWhatIsMissing) {
  auto kernels = sound_build(70);
  kernels.erase(kernels.begin());
  const std::string id(kernel_instances()[0].id);
  EXPECT_EQ(misplaced_instances(kernels, 70), Lines{"sm_70 has no " + id});
  EXPECT_EQ(misplaced_instances(kernels, 75).size(), kernel_instances().size());
}

TEST(InstanceCheck, NamesProductsInTheWrongPlace) {
  auto old = sound_build(70), later = sound_build(80);
  const std::string id(kernel_instances()[0].id);
  old[0].tensor_instructions = 0;
  EXPECT_EQ(misplaced_instances(old, 70),
            Lines{"sm_70: " + id + " has 0 tensor instructions, allowed: at least 1"});
  later[0].tensor_instructions = 4;
  EXPECT_EQ(misplaced_instances(later, 80),
            Lines{"sm_80: " + id + " has 4 tensor instructions, allowed: 0"});
}

}  // namespace
}  // namespace sparkbench
