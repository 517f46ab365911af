#include "harness/model/sass/kernel_inspection.h"

#include <gtest/gtest.h>

#include "kernels/registry.h"

namespace sparkbench {
namespace {

/// Every instance as it should be for `sm`.
std::vector<KernelInspection> sound_build(int sm) {
  std::vector<KernelInspection> kernels;
  for (const KernelInstance& instance : kernel_instances()) {
    if (!is_compiled_for(instance.instruction, sm)) continue;
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
  for (const int sm : {70, 80, 90, 100})
    EXPECT_EQ(misplaced_instances(sound_build(sm), sm), Lines{});
}

TEST(InstanceCheck, NamesWhatIsMissing) {
  auto kernels = sound_build(70);
  kernels.erase(kernels.begin());
  const std::string id(kernel_instances()[0].id);
  EXPECT_EQ(misplaced_instances(kernels, 70), Lines{"sm_70 has no " + id});
  EXPECT_EQ(misplaced_instances(kernels, 75).size(), sound_build(75).size());
}

TEST(InstanceCheck, AsksForWhatAGlobMatchesAlone) {
  const auto voltas_alone = sound_build(75);
  EXPECT_EQ(misplaced_instances(voltas_alone, 75, "volta-*"), Lines{});
  EXPECT_EQ(misplaced_instances(voltas_alone, 90, "hopper-fp32acc/fwd/d64"),
            Lines{"sm_90 has no hopper-fp32acc/fwd/d64"});
  const auto hoppers_kernel = misplaced_instances(voltas_alone, 90, "hopper-fp32acc");
  EXPECT_GT(hoppers_kernel.size(), 1u);
  for (const std::string& line : hoppers_kernel) {
    EXPECT_EQ(line.find("sm_90 has no hopper-fp32acc/"), 0u) << line;
  }
}

TEST(InstanceCheck, AsksForHoppersInstancesInItsOwnCodeAlone) {
  const auto all = sound_build(90), others = sound_build(75);
  auto without = all;
  std::erase_if(without, [](const KernelInspection& kernel) {
    return kernel.symbol == "hopper_fp32acc_fwd_d64";
  });
  EXPECT_EQ(misplaced_instances(without, 90), Lines{"sm_90 has no hopper-fp32acc/fwd/d64"});
  EXPECT_GT(all.size(), others.size());
}

/// Code for Turing alone has their names without their bodies.
TEST(InstanceCheck, AsksTuringForNoProductsOfWhatItNeverLaunches) {
  auto kernels = sound_build(75);
  for (KernelInspection& kernel : kernels) {
    const KernelInstance* const instance = find_kernel_instance(kernel.symbol);
    if (instance->blocks != BlockSource::kDense) kernel.tensor_instructions = 0;
  }
  EXPECT_EQ(misplaced_instances(kernels, 75), Lines{});
  for (KernelInspection& kernel : kernels) kernel.sm = 70;
  EXPECT_GT(misplaced_instances(kernels, 70).size(), 1u);
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
