// Expressions and tiles on the current GPU, against the host's.
#include "kernels/jit/device_sights.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "kernels/jit/compiled_code.h"
#include "kernels/jit/driver_module.h"
#include "kernels/jit/pattern_source.h"
#include "kernels/jit/test_lists.h"
#include "kernels/machine/cuda_resources.h"
#include "kernels/mask/predicate/device_source.h"
#include "kernels/mask/predicate/evaluate.h"
#include "kernels/mask/predicate/test_expressions.h"

namespace sparkbench {
namespace {

namespace fs = std::filesystem;

bool has_gpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

int sm_of_gpu() {
  cudaDeviceProp properties;
  CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  return 10 * properties.major + properties.minor;
}

class DeviceSightsGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
    try {
      nvrtc_for(sm_of_gpu());
    } catch (const NvrtcMissing& error) {
      GTEST_SKIP() << error.what();
    }
    unsetenv("SPARKBENCH_JIT");
    setenv("SPARKBENCH_JIT_CACHE", folder_.c_str(), 1);
  }
  ~DeviceSightsGpuTest() override { fs::remove_all(folder_); }

  fs::path folder_ = fs::path(testing::TempDir()) / ("device_sights_" + std::to_string(getpid()));
};

constexpr int kPointsOfEach = 128;

/// Case i is expression i, at a point per thread.
std::string source_of_expressions(const std::vector<Expression>& expressions) {
  std::string source =
      "#include \"kernels/mask/predicate/whole_numbers.h\"\nnamespace sparkbench {\n"
      "struct Point { Whole q, k, h, seqlen_q, seqlen_k; };\n";
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    source.append("__device__ __noinline__ Whole e").append(std::to_string(i));
    source.append("(Whole q, Whole k, Whole h, Whole seqlen_q, Whole seqlen_k) { return ");
    source.append(c_text_of(expressions[i])).append("; }\n");
  }
  source.append(
      "extern \"C\" __global__ void values(const Point* points, Whole* values) {\n"
      "  const int at = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  const Point p = points[at];\n  switch (blockIdx.x) {\n");
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const std::string number = std::to_string(i);
    source.append("    case ").append(number).append(": values[at] = e").append(number);
    source.append("(p.q, p.k, p.h, p.seqlen_q, p.seqlen_k); break;\n");
  }
  return source.append("  }\n}\n}\n");
}

TEST_F(DeviceSightsGpuTest, ExpressionsHaveTheHostsValues) {
  std::mt19937 random(11);
  const Nvrtc& nvrtc = nvrtc_for(sm_of_gpu());
  CUDA_CHECK(cudaFree(nullptr));
  for (int round = 0; round < 10; ++round) {
    std::vector<Expression> expressions;
    for (int i = 0; i < 1000; ++i) expressions.push_back(drawn_expression(random));
    std::vector<ExpressionPoint> points;
    for (std::size_t i = 0; i < expressions.size() * kPointsOfEach; ++i) {
      points.push_back({drawn_between(random, -99, 999), drawn_between(random, 0, 999),
                        drawn_between(random, 0, 15), 700, 1000});
    }
    const DriverModule module(
        nvrtc.compile({source_of_expressions(expressions), embedded_headers()}, sm_of_gpu()));
    const DeviceBuffer given(points.size() * sizeof(ExpressionPoint)),
        made(points.size() * sizeof(Whole));
    CUDA_CHECK(cudaMemcpy(given.as<void>(), points.data(), given.bytes(), cudaMemcpyHostToDevice));
    auto* at_given = given.as<void>();
    auto* at_made = made.as<void>();
    void* arguments[] = {&at_given, &at_made};
    module.launch(module.function("values"), static_cast<unsigned>(expressions.size()),
                  kPointsOfEach, nullptr, arguments);
    std::vector<Whole> got(points.size());
    CUDA_CHECK(cudaMemcpy(got.data(), made.as<void>(), made.bytes(), cudaMemcpyDeviceToHost));
    for (std::size_t i = 0; i < points.size(); ++i) {
      ASSERT_EQ(got[i], value_of(expressions[i / kPointsOfEach], points[i]))
          << text_of(expressions[i / kPointsOfEach]);
    }
  }
}

TEST_F(DeviceSightsGpuTest, ListsAreThoseOfTheHost) {
  for (const std::string_view spec :
       {"where:k<=q&&(q-k<100||k%64==0)", "window:100/where:q/128==k/128&&abs(q-k)<90",
        "where:(q*7+k*13)%5==0", "where:0", "where:1", "causal-where:(q+h)%3!=0",
        "where:q*q+k*k<seqlen_k*seqlen_k", "where:((q^k)&(q>>3))==0"}) {
    for (const auto& [seqlen_q, seqlen_k] :
         {std::pair(1, 1), {300, 300}, {290, 430}, {430, 290}, {1024, 1024}}) {
      const auto on_host = make_sparse_mask(spec, seqlen_q, seqlen_k, 3);
      const SightedMask sighted = with_device_sights(on_host);
      ASSERT_TRUE(sighted.report.is_used) << sighted.report.why_not;
      for (const SparseListKind& kind : kKindsOfLists) {
        EXPECT_EQ(bytes_of(SparseTileLists(*sighted.mask, kind)),
                  bytes_of(SparseTileLists(*on_host, kind)))
            << spec << ", " << seqlen_q << " x " << seqlen_k << ", blocks of " << kind.block_rows;
      }
    }
  }
}

/// Drawn expressions see few pairs or nearly all, and so have every kind of tile.
TEST_F(DeviceSightsGpuTest, ListsOfDrawnExpressionsAreThoseOfTheHost) {
  std::mt19937 random(12);
  std::string spec;
  for (int i = 0; i < 60; ++i) {
    const Expression drawn = drawn_expression(random);
    spec = "where:" + text_of(drawn);
    std::shared_ptr<const SparseMask> on_host;
    try {
      on_host = make_sparse_mask(spec, 200 + i, 333, 2);
    } catch (const std::invalid_argument&) {  // it divides by a constant 0
      continue;
    }
    const SightedMask sighted = with_device_sights(on_host);
    ASSERT_TRUE(sighted.report.is_used) << sighted.report.why_not;
    for (const SparseListKind& kind : kKindsOfLists) {
      ASSERT_EQ(bytes_of(SparseTileLists(*sighted.mask, kind)),
                bytes_of(SparseTileLists(*on_host, kind)))
          << spec;
    }
  }
}

TEST_F(DeviceSightsGpuTest, FirstCallIsReported) {
  const auto mask = make_sparse_mask("where:k<=q&&(q-k<77||k%32==3)", 256, 256);
  const JitReport first = with_device_sights(mask).report;
  ASSERT_TRUE(first.is_used) << first.why_not;
  EXPECT_FALSE(first.is_from_disk);
  EXPECT_GT(first.first_call_ms, 0.0);
  EXPECT_EQ(first.note, "");
  EXPECT_NE(first.compiler.find("NVRTC"), std::string::npos);
  EXPECT_FALSE(fs::is_empty(folder_));
  // The same code at another length, which the process has by now.
  const auto longer = make_sparse_mask("where:k<=q&&(q-k<77||k%32==3)", 512, 512);
  EXPECT_EQ(with_device_sights(longer).report.first_call_ms, first.first_call_ms);
  std::cout << "first call: " << first.first_call_ms << " ms with " << first.compiler << "\n";
}

TEST_F(DeviceSightsGpuTest, HostLooksWhereNothingIsCompiled) {
  const auto zones = make_sparse_mask("window:64+sink:1", 256, 256);
  EXPECT_EQ(with_device_sights(zones).mask, zones);
  EXPECT_FALSE(with_device_sights(zones).report.is_used);
  const auto mask = make_sparse_mask("where:k<=q", 256, 256);
  setenv("SPARKBENCH_JIT", "off", 1);
  EXPECT_EQ(with_device_sights(mask).mask, mask);
  EXPECT_EQ(with_device_sights(mask).report.why_not, "SPARKBENCH_JIT is off");
}

}  // namespace
}  // namespace sparkbench
