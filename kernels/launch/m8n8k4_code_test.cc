#include "kernels/launch/m8n8k4_code.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

constexpr std::size_t kBytes = 96 << 10;

TEST(M8n8k4Code, RunsWithinItsGeneration) {
  EXPECT_TRUE(runs_code_of("70", 70));
  EXPECT_TRUE(runs_code_of("70", 72));
  EXPECT_TRUE(runs_code_of("70", 75));
  EXPECT_FALSE(runs_code_of("75", 70));
  EXPECT_FALSE(runs_code_of("70,75", 80));
  EXPECT_TRUE(runs_code_of("75,80", 86));
  EXPECT_FALSE(runs_code_of("75,89", 80));
  EXPECT_TRUE(runs_code_of("70,100", 103));
  EXPECT_FALSE(runs_code_of("", 70));
}

TEST(M8n8k4Code, SaysForWhichGpusThereIsSome) {
  EXPECT_EQ(why_no_code({70, kBytes}, "70,75"), "");
  EXPECT_EQ(why_no_code({70, kBytes}, "75,90"),
            "sm_70 in this build, which has Volta's kernels for sm_75, sm_90");
  EXPECT_EQ(why_no_code({75, kBytes}, ""),
            "sm_75 in this build, which has Volta's kernels for no GPU");
}

TEST(M8n8k4Code, SaysWhatToTakeOnNewerGpus) {
  for (const int sm : {80, 86, 89, 90, 100}) {
    const std::string why = why_no_code({sm, kBytes}, "70,75");
    EXPECT_EQ(why.find("sm_" + std::to_string(sm) + " in this build: the kernel is slow there"),
              0u);
    EXPECT_NE(why.find("hopper-fp32acc on sm_90"), std::string::npos);
    EXPECT_NE(why.find("SPARKBENCH_VOLTA_ARCHITECTURES=all"), std::string::npos);
  }
  EXPECT_EQ(why_no_code({80, kBytes}, "75,80"), "");
}

TEST(M8n8k4Code, IsNotNeededByEmulatedDevices) {
  EXPECT_EQ(why_no_code({70, kBytes, true}, ""), "");
  EXPECT_EQ(why_no_code({90, kBytes, true}), "");
}

}  // namespace
}  // namespace sparkbench
