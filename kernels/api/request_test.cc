// Which kernel a request gets, on GPUs that this machine does not have.
#include "kernels/api/request.h"

#include <gtest/gtest.h>

#include "kernels/api/status.h"
#include "kernels/registry.h"

namespace sparkbench {
namespace {

/// Emulated, since a build may have no code for them.
constexpr KernelDevice kV100{70, 96 << 10, true}, kT4{75, 64 << 10, true};
constexpr KernelDevice kA100{80, 163 << 10, true}, kH100{90, 227 << 10, true};

std::string why_refused(const KernelDevice& device, const KernelWish& wish,
                        Pass pass = Pass::kForward) {
  try {
    kernel_for({}, pass, device, wish);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), SPARK_ATTENTION_UNSUPPORTED);
    return error.what();
  }
  return "";
}

constexpr KernelWish kFp32{SPARK_ATTENTION_ACC_FP32};
constexpr KernelWish kSlowFp32{SPARK_ATTENTION_ACC_FP32, true};
constexpr KernelWish kHopper{SPARK_ATTENTION_ACC_FP32, false, false, "hopper"};

std::string_view name_for(const KernelDevice& device, const KernelWish& wish,
                          Pass pass = Pass::kForward) {
  return kernel_for({}, pass, device, wish).name;
}

TEST(KernelFor, IsTheKernelOfTheAccumulator) {
  const auto name = [](spark_attention_accumulator accumulator) {
    return name_for(kV100, {accumulator});
  };
  EXPECT_EQ(name(SPARK_ATTENTION_ACC_FP32), "volta-fp32acc");
  EXPECT_EQ(name(SPARK_ATTENTION_ACC_FP16), "volta-fp16acc");
}

TEST(KernelFor, RefusesToBeSlowUnlessAllowed) {
  EXPECT_EQ(why_refused(kT4, kFp32), "");
  EXPECT_EQ(why_refused(kA100, kSlowFp32), "");
  EXPECT_EQ(why_refused(kA100, kFp32),
            "volta-fp32acc is slow on compute capability 8.0, whose tensor cores have no m8n8k4: "
            "take that GPU's own kernels, or allow_slow to run it all the same");
}

TEST(KernelFor, TakesTheDevicesOwnKernelWithoutBeingAsked) {
  EXPECT_EQ(name_for(kH100, kFp32), "hopper-fp32acc");
}

/// A slow kernel where no other has both, so that a backward pass has its own forward pass.
TEST(KernelFor, IsOneKernelOfBothPasses) {
  for (const KernelDevice& device : {kV100, kA100, kH100}) {
    EXPECT_EQ(name_for(device, kSlowFp32), name_for(device, kSlowFp32, Pass::kBackward));
  }
}

TEST(KernelFor, IsOfTheGeneration) {
  EXPECT_EQ(name_for(kH100, kHopper), "hopper-fp32acc");
  EXPECT_EQ(name_for(kH100, {SPARK_ATTENTION_ACC_FP32, true, false, "volta"}), "volta-fp32acc");
  EXPECT_EQ(why_refused(kV100, kHopper),
            "hopper-fp32acc does not support compute capabilities other than 9.0 (the instruction "
            "is wgmma)");
  EXPECT_EQ(why_refused(kH100, {SPARK_ATTENTION_ACC_FP16, false, false, "hopper"}),
            "no kernel's name is hopper-fp16acc");
  EXPECT_EQ(why_refused(kH100, {SPARK_ATTENTION_ACC_FP32, false, true, "hopper"}), "");
  try {
    kernel_for({}, Pass::kForward, kH100, {SPARK_ATTENTION_ACC_FP32, false, false, "kepler"});
    ADD_FAILURE() << "no kernel is Kepler's";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "generation is 'kepler'; allowed: volta, hopper, or null for any");
  }
}

TEST(KernelFor, SaysWhatTheKernelDoesNotSupport) {
  EXPECT_EQ(why_refused({61, 96 << 10, true}, kSlowFp32),
            "volta-fp32acc does not support compute capabilities below 7.0");
}

}  // namespace
}  // namespace sparkbench
