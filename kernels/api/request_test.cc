// Which kernel a request gets, on GPUs that this machine does not have.
#include "kernels/api/request.h"

#include <gtest/gtest.h>

#include "kernels/api/status.h"
#include "kernels/registry.h"

namespace sparkbench {
namespace {

constexpr KernelDevice kV100{70, 96 << 10}, kT4{75, 64 << 10}, kH100{90, 227 << 10};

std::string why_refused(const KernelDevice& device, bool allow_slow) {
  try {
    kernel_for({}, SPARK_ATTENTION_ACC_FP32, Pass::kForward, device, allow_slow);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), SPARK_ATTENTION_UNSUPPORTED);
    return error.what();
  }
  return "";
}

TEST(KernelFor, IsTheKernelOfTheAccumulator) {
  const auto name = [](spark_attention_accumulator accumulator) {
    return kernel_for({}, accumulator, Pass::kForward, kV100, false).name;
  };
  EXPECT_EQ(name(SPARK_ATTENTION_ACC_FP32), "volta-fp32acc");
  EXPECT_EQ(name(SPARK_ATTENTION_ACC_FP16), "volta-fp16acc");
  EXPECT_EQ(name(SPARK_ATTENTION_ACC_MIXED), "volta-mixedacc");
  EXPECT_EQ(name(SPARK_ATTENTION_ACC_FP16_O16), "volta-fp16acc-o16");
}

TEST(KernelFor, RefusesToBeSlowUnlessAllowed) {
  EXPECT_EQ(why_refused(kT4, false), "");
  EXPECT_EQ(why_refused(kH100, true), "");
  EXPECT_EQ(why_refused(kH100, false),
            "volta-fp32acc is slow on compute capability 9.0, whose tensor cores have no m8n8k4: "
            "take that GPU's own kernels, or allow_slow to run it all the same");
}

TEST(KernelFor, SaysWhatTheKernelDoesNotSupport) {
  EXPECT_EQ(why_refused({61, 96 << 10}, true),
            "volta-fp32acc does not support compute capabilities below 7.0");
}

}  // namespace
}  // namespace sparkbench
