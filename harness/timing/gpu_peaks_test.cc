#include "harness/timing/gpu_peaks.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

TEST(GpuPeaks, AreKnownForTheCardsOfTheTable) {
  EXPECT_EQ(gpu_peaks("Tesla V100-SXM2-32GB")->tflops, 125);
  EXPECT_EQ(gpu_peaks("Tesla V100-PCIE-16GB")->tflops, 112);
  EXPECT_EQ(gpu_peaks("NVIDIA H200")->gbps, 4800);
}

TEST(GpuPeaks, AreUnknownForACardNobodyLookedUp) {
  EXPECT_FALSE(gpu_peaks("NVIDIA GeForce GTX 1660").has_value());
  EXPECT_FALSE(gpu_peaks("").has_value());
}

TEST(TensorFlopsPerClock, GivesTheDataSheetsRatesAtBoostClocks) {
  const auto tflops = [](int sm, int sm_count, double boost_mhz) {
    return tensor_flops_per_clock(sm).value() * sm_count * boost_mhz * 1e-6;
  };
  EXPECT_NEAR(tflops(70, 80, 1530), gpu_peaks("Tesla V100-SXM2-16GB")->tflops, 0.5);
  EXPECT_NEAR(tflops(75, 40, 1590), gpu_peaks("Tesla T4")->tflops, 0.5);
  EXPECT_NEAR(tflops(80, 108, 1410), gpu_peaks("NVIDIA A100-SXM4-80GB")->tflops, 0.5);
  EXPECT_NEAR(tflops(90, 132, 1830), gpu_peaks("NVIDIA H200")->tflops, 1);
}

TEST(TensorFlopsPerClock, IsUnknownForAnArchitectureNobodyLookedUp) {
  EXPECT_FALSE(tensor_flops_per_clock(60).has_value());
}

}  // namespace
}  // namespace sparkbench
