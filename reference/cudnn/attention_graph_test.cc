// Whether the graphs say what attention is, by a cuDNN that runs them on the host; and whether an
// installed cuDNN has kernels for them. It compiles for devices that are described and not present,
// so that needs cuDNN and no GPU.
#include "reference/cudnn/attention_graph.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "reference/cudnn/plan.h"
#include "reference/cudnn/test_cudnn.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"

namespace sparkbench::cudnn {
namespace {

constexpr std::uint64_t kInputSeed = 5;
/// Results are rounded to fp16 once, and to fp32 between.
constexpr Tolerance kOneRounding{.ratio = 0.0, .floor = 0x1p-10};

/// Memory for every tensor of a problem's graphs.
struct HostTensors {
  explicit HostTensors(const Problem& problem)
      : inputs(make_inputs(problem, Distribution::kUniform, kInputSeed)),
        d_o(make_gradient_input(problem, Distribution::kUniform, kInputSeed)),
        o(problem.q_elements()),
        dq(problem.q_elements()),
        dk(problem.k_elements()),
        dv(problem.k_elements()),
        lse(problem.lse_elements()),
        delta(problem.lse_elements()),
        dq_sum(problem.q_elements()),
        seed(static_cast<std::int64_t>(problem.seed)) {}

  std::vector<Binding> bindings() {
    return {{kQ, inputs.q.data()},  {kK, inputs.k.data()}, {kV, inputs.v.data()},
            {kO, o.data()},         {kLse, lse.data()},    {kSeed, &seed},
            {kOffset, &offset},     {kDO, d_o.data()},     {kDq, dq.data()},
            {kDk, dk.data()},       {kDv, dv.data()},      {kDelta, delta.data()},
            {kDqSum, dq_sum.data()}};
  }

  OwnedInputs inputs;
  std::vector<Half> d_o, o, dq, dk, dv;
  std::vector<float> lse, delta, dq_sum;
  std::int64_t seed, offset = 0;
};

std::vector<Problem> problems_with_a_graph() {
  std::vector<Problem> problems;
  for (const bool causal : {false, true}) {
    for (const float dropout_p : {0.0f, 0.25f}) {
      for (const auto& [seqlen_q, seqlen_k] : {std::pair{1, 1}, {7, 7}, {5, 9}, {9, 5}}) {
        const Problem problem{2,         3,    seqlen_q, seqlen_k, 8, MaskSpec::causal_if(causal),
                              dropout_p, 0.0f, 77};
        if (!why_no_graph(problem)) problems.push_back(problem);
      }
    }
  }
  return problems;
}

std::string name_of(const Problem& problem) {
  return std::to_string(problem.seqlen_q) + " x " + std::to_string(problem.seqlen_k) + ", " +
         name_of(problem.mask) + ", dropout " + std::to_string(problem.dropout_p);
}

template <class AddOperations>
void execute(const Api& api, HostTensors& tensors, const AddOperations& add_operations) {
  const Handle handle(api);
  auto graph = std::make_unique<Graph>(api);
  add_operations(*graph);
  Plan(api, handle, std::move(graph)).execute(tensors.bindings(), nullptr, nullptr);
}

void run_forward(const Api& api, const Problem& problem, HostTensors& tensors) {
  execute(api, tensors, [&](Graph& graph) { add_forward(graph, problem, api.version()); });
}

void run_backward(const Api& api, const Problem& problem, bool is_deterministic,
                  HostTensors& tensors) {
  execute(api, tensors,
          [&](Graph& graph) { add_backward(graph, problem, is_deterministic, api.version()); });
}

TEST(CudnnAttentionGraph, IsTheDefinitionForward) {
  const Api api = fake_api();
  for (const Problem& problem : problems_with_a_graph()) {
    HostTensors tensors(problem);
    run_forward(api, problem, tensors);
    const std::vector<QueryRow> rows = all_rows(problem);
    const ErrorMetrics error = error_metrics(gather_rows(problem, tensors.o, tensors.lse, rows),
                                             exact_forward(problem, tensors.inputs.view(), rows));
    EXPECT_EQ(why_incorrect(error, {}, kOneRounding), "") << name_of(problem);
  }
}

TEST(CudnnAttentionGraph, IsTheDefinitionBackwardAndWithFixedSums) {
  const Api api = fake_api();
  for (const Problem& problem : problems_with_a_graph()) {
    HostTensors tensors(problem);
    run_forward(api, problem, tensors);
    const GradientRows rows = all_gradient_rows(problem);
    const auto& [q, k, v] = tensors.inputs;
    const ExactGradients want =
        exact_backward(problem, {q, k, v, tensors.d_o, tensors.o, tensors.lse}, rows);
    for (const bool is_deterministic : {false, true}) {
      run_backward(api, problem, is_deterministic, tensors);
      const HalfGradients got =
          gather_gradients(problem, {tensors.dq, tensors.dk, tensors.dv}, rows);
      EXPECT_EQ(why_incorrect(gradient_errors(got, want), {}, kOneRounding), "")
          << name_of(problem) << ", deterministic " << is_deterministic;
    }
  }
}

TEST(CudnnAttentionGraph, LeavesOutWhatCudnnDoesNotSupport) {
  EXPECT_TRUE(why_no_graph({.seqlen_q = 9, .seqlen_k = 5, .mask = MaskSpec::causal()}));
  EXPECT_TRUE(
      why_no_graph({.seqlen_q = 5, .seqlen_k = 9, .mask = MaskSpec::causal(), .dropout_p = 0.25f}));
  EXPECT_FALSE(why_no_graph({.seqlen_q = 9, .seqlen_k = 5}));
  EXPECT_FALSE(why_no_graph({.seqlen_q = 5, .seqlen_k = 9, .mask = MaskSpec::causal()}));
  EXPECT_FALSE(
      why_no_graph({.seqlen_q = 9, .seqlen_k = 9, .mask = MaskSpec::causal(), .dropout_p = 0.25f}));
}

constexpr std::size_t kFirstVersionThatDescribesDevices = 91100;

/// As cuDNN writes them down on an H200.
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

TEST_F(InstalledCudnn, HasKernelsForTheGraphsOfEveryHeadDimMaskDropoutAndLength) {
  for (Problem problem : problems_with_a_graph()) {
    for (const int head_dim : {64, 128}) {
      problem.head_dim = head_dim;
      Graph forward(*api_), backward(*api_), deterministic(*api_);
      add_forward(forward, problem, api_->version());
      add_backward(backward, problem, false, api_->version());
      add_backward(deterministic, problem, true, api_->version());
      for (const Graph* graph : {&forward, &backward, &deterministic}) {
        EXPECT_NO_THROW(count_kernels(*graph)) << name_of(problem) << ", head_dim " << head_dim;
      }
    }
  }
}

}  // namespace
}  // namespace sparkbench::cudnn
