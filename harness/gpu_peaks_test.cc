#include "harness/gpu_peaks.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

TEST(GpuPeaks, AreKnownForTheCardsOfTheTable) {
  EXPECT_EQ(gpu_peaks("Tesla V100-SXM2-32GB")->tflops, 125);
  EXPECT_EQ(gpu_peaks("Tesla V100-PCIE-16GB")->tflops, 112);
  EXPECT_EQ(gpu_peaks("NVIDIA H200")->gbps, 4800);
}

TEST(GpuPeaks, AreUnknownForACardThatNobodyLookedUp) {
  EXPECT_FALSE(gpu_peaks("NVIDIA GeForce GTX 1660").has_value());
  EXPECT_FALSE(gpu_peaks("").has_value());
}

}  // namespace
}  // namespace sparkbench
