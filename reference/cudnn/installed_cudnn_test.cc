// Tests whether an installed cuDNN has kernels for the graphs. It compiles for described devices,
// so the test needs cuDNN but no GPU.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/testing/nightly.h"
#include "reference/cudnn/attention_graph.h"
#include "reference/cudnn/plan.h"
#include "reference/cudnn/test_host_tensors.h"
#include "reference/cudnn/test_problems.h"

namespace sparkbench::cudnn {
namespace {

constexpr std::size_t kFirstVersionThatDescribesDevices = 91100;

/// cuDNN's own description of an H200.
constexpr std::string_view kH200 = R"({
  "deviceVer": 900, "deviceName": "NVIDIA H200", "cudaDeviceId": 0, "pciDeviceId": 0,
  "driverVer": 13000, "isTccDriver": 0, "supportCoopLaunch": 1, "multiProcessorCount": 132,
  "totalGlobalMem": 150754820096, "l2CacheSize": 62914560, "smClockRateKHz": 1980000,
  "memClockRateKHz": 3201000, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "warpSize": 32, "maxThreadsPerBlock": 1024,
  "maxThreadsPerSM": 2048, "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024})";

class InstalledCudnn : public testing::Test {
 protected:
  void SetUp() override {
    api_ = load_api();
    if (!api_) GTEST_SKIP() << "no libcudnn.so.9";
    // cuDNN needs libcuda to compile kernels, even for a device that is only described.
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) GTEST_SKIP() << "no libcuda.so.1";
    if (api_->version() < kFirstVersionThatDescribesDevices) GTEST_SKIP() << "cuDNN before 9.11";
  }

  /// Throws when there is none.
  std::size_t count_kernels(const Graph& graph) const {
    Descriptor device(*api_, DescriptorType::kDeviceProperties);
    device.set(Attribute::kDevicePropertiesJson, std::span<const char>(kH200));
    device.finalize();
    return engine_configs(*api_, graph.finalize(nullptr), &device).size();
  }

  std::optional<Api> api_;
};

TEST_F(InstalledCudnn, HasKernelsForEveryLayout) {
  const Problem problem{2, 3, 128, 128, 64, MaskSpec::window(37)};
  for (const TestLayout layout : kTestLayouts) {
    const AttentionStrides strides = HostTensors(problem, layout).strides();
    const AttentionPlan plan{problem, strides, api_->version()};
    Graph forward(*api_), backward(*api_);
    add_forward(forward, plan);
    add_backward(backward, plan, false);
    EXPECT_NO_THROW(count_kernels(forward)) << name_of(layout);
    EXPECT_NO_THROW(count_kernels(backward)) << name_of(layout);
  }
}

/// Here and below each problem at one head_dim, the next at the other; nightly at both.
TEST_F(InstalledCudnn, HasKernelsForPackedSequences) {
  std::size_t cell = 0;
  for (Problem problem : packed_problems()) {
    ++cell;
    for (const int head_dim : {64, 128}) {
      if (!is_tried(cell++, 2)) continue;
      problem.head_dim = head_dim;
      const RaggedBatch batch = ragged_batch(problem);
      const AttentionStrides strides = contiguous_strides(problem);
      const AttentionPlan plan{problem, strides, api_->version(), &batch};
      Graph forward(*api_), backward(*api_), deterministic(*api_);
      add_forward(forward, plan);
      add_backward(backward, plan, false);
      add_backward(deterministic, plan, true);
      for (const Graph* graph : {&forward, &backward, &deterministic}) {
        EXPECT_NO_THROW(count_kernels(*graph)) << describe(problem) << ", head_dim " << head_dim;
      }
    }
  }
}

TEST_F(InstalledCudnn, HasKernelsForEveryGraph) {
  std::vector<Problem> problems = problems_with_a_graph(), groups = problems_with_groups();
  problems.insert(problems.end(), groups.begin(), groups.end());
  std::size_t cell = 0;
  for (Problem problem : problems) {
    ++cell;
    for (const int head_dim : {64, 128}) {
      if (!is_tried(cell++, 2)) continue;
      problem.head_dim = head_dim;
      Graph forward(*api_), backward(*api_), deterministic(*api_);
      const AttentionStrides strides = contiguous_strides(problem);
      const AttentionPlan plan{problem, strides, api_->version()};
      add_forward(forward, plan);
      add_backward(backward, plan, false);
      add_backward(deterministic, plan, true);
      for (const Graph* graph : {&forward, &backward, &deterministic}) {
        EXPECT_NO_THROW(count_kernels(*graph)) << describe(problem) << ", head_dim " << head_dim;
      }
    }
  }
}

}  // namespace
}  // namespace sparkbench::cudnn
