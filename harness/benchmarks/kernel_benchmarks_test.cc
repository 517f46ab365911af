#include "harness/benchmarks/kernel_benchmarks.h"

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

#include <sstream>

namespace sparkbench {
namespace {

TEST(KernelBenchmarks, AreNoneWhereNothingHasAClock) {
  SweepOptions options;
  options.axes["--kernel"] = "volta-*";
  options.preset = "quick";
  PlannedSweep sweep({.options = options}, "emulated-v100");
  ASSERT_FALSE(sweep.plan().cases.empty());
  EXPECT_FALSE(register_kernel_benchmarks(sweep, 20));
  std::ostringstream out;
  benchmark::ConsoleReporter reporter(benchmark::ConsoleReporter::OO_None);
  reporter.SetOutputStream(&out);
  reporter.SetErrorStream(&out);
  EXPECT_EQ(benchmark::RunSpecifiedBenchmarks(&reporter), 0u) << out.str();
}

}  // namespace
}  // namespace sparkbench
