// Whether the graphs say what attention is, by a cuDNN that runs them on the host; and whether an
// installed cuDNN has kernels for them. It compiles for devices that are described and not present,
// so that needs cuDNN and no GPU.
#include "reference/cudnn/attention_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/mask/test_masks.h"
#include "reference/cudnn/plan.h"
#include "reference/cudnn/test_cudnn.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"
#include "reference/tensors/test_layouts.h"

namespace sparkbench::cudnn {
namespace {

constexpr std::uint64_t kInputSeed = 5;
constexpr std::size_t kVersion = 91901;
/// Results are rounded to fp16 once, and to fp32 between.
constexpr Tolerance kOneRounding{.ratio = 0.0, .floor = 0x1p-10};

constexpr Tolerance kTwoRoundings{.ratio = 0.0, .floor = 0x1p-9};

/// Memory for every tensor of a problem's graphs.
struct HostTensors {
  explicit HostTensors(const Problem& problem, TestLayout layout = TestLayout::kContiguous)
      : inputs(make_inputs(problem, Distribution::kUniform, kInputSeed)),
        queries(query_shape(problem.lengths ? problem.packed() : problem)),
        keys(key_shape(problem.lengths ? problem.packed() : problem)),
        q(inputs.q, queries, layout),
        k(inputs.k, keys, layout),
        v(inputs.v, keys, layout),
        d_o(make_gradient_input(problem, Distribution::kUniform, kInputSeed), queries, layout),
        o(queries, layout),
        dq(queries, layout),
        dk(keys, layout),
        dv(keys, layout),
        lse(problem.lse_elements()),
        delta(problem.lse_elements()),
        dq_sum(dq_sum_elements(problem, strides())),
        dk_of_heads(elements_of_heads(problem, dk.strides)),
        dv_of_heads(elements_of_heads(problem, dv.strides)),
        seed(static_cast<std::int64_t>(problem.seed)) {
    if (!problem.lengths) return;
    batch = ragged_batch(problem);
    rows = batch->rows();
    keys_of_each = batch->keys();
    offsets = ragged_offsets(*batch, strides());
  }

  std::vector<Binding> bindings() {
    std::vector<Binding> all = {{kQ, q.view().data},
                                {kK, k.view().data},
                                {kV, v.view().data},
                                {kO, o.view().data},
                                {kLse, lse.data()},
                                {kSeed, &seed},
                                {kOffset, &offset},
                                {kDO, d_o.view().data},
                                {kDq, dq.view().data},
                                {kDk, dk.view().data},
                                {kDv, dv.view().data},
                                {kDelta, delta.data()},
                                {kDqSum, dq_sum.data()},
                                {kDkOfHeads, dk_of_heads.data()},
                                {kDvOfHeads, dv_of_heads.data()},
                                {kRows, rows.data()},
                                {kKeys, keys_of_each.data()}};
    for (RaggedOffsets& of : offsets) {
      all.push_back({offsets_id(of.tensor), of.first_elements.data()});
    }
    return all;
  }
  AttentionPlan plan(const Problem& problem, const AttentionStrides& strides) const {
    return {problem, strides, kVersion, batch ? &*batch : nullptr};
  }
  AttentionStrides strides() const {
    return {q.strides,   k.strides,  v.strides,  o.strides,
            d_o.strides, dq.strides, dk.strides, dv.strides};
  }
  bool have_untouched_gaps() const {
    return o.has_untouched_gaps() && dq.has_untouched_gaps() && dk.has_untouched_gaps() &&
           dv.has_untouched_gaps();
  }

  OwnedInputs inputs;
  TensorShape queries, keys;
  LaidOutTensor q, k, v, d_o, o, dq, dk, dv;
  std::vector<float> lse, delta, dq_sum;
  std::vector<Half> dk_of_heads, dv_of_heads;
  std::int64_t seed, offset = 0;
  std::optional<RaggedBatch> batch;
  std::vector<std::int32_t> rows, keys_of_each;
  std::vector<RaggedOffsets> offsets;
};

std::vector<Problem> problems_with_a_graph() {
  std::vector<Problem> problems;
  for (const MaskSpec& mask : kTestMasks) {
    for (const float dropout_p : {0.0f, 0.25f}) {
      for (const auto& [seqlen_q, seqlen_k] : {std::pair{1, 1}, {7, 7}, {5, 9}, {9, 5}}) {
        const Problem problem{2, 3, seqlen_q, seqlen_k, 8, mask, dropout_p, 0.0f, 77};
        if (!why_no_graph(problem, kVersion)) problems.push_back(problem);
      }
    }
  }
  return problems;
}

/// Heads that share keys. dK and dV of each are rounded to fp16 before they are added up.
std::vector<Problem> problems_with_groups() {
  std::vector<Problem> problems;
  for (const int heads_k : {1, 2}) {
    for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::window(3)}) {
      for (const float dropout_p : {0.0f, 0.25f}) {
        problems.push_back({2, 4, 7, 7, 8, mask, dropout_p, 0.0f, 77, heads_k});
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
  const AttentionStrides strides = tensors.strides();
  execute(api, tensors, [&](Graph& graph) { add_forward(graph, tensors.plan(problem, strides)); });
}

void run_backward(const Api& api, const Problem& problem, bool is_deterministic,
                  HostTensors& tensors) {
  const AttentionStrides strides = tensors.strides();
  execute(api, tensors, [&](Graph& graph) {
    add_backward(graph, tensors.plan(problem, strides), is_deterministic);
  });
}

/// Given the forward pass that was run.
ExactGradients exact_gradients(const Problem& problem, const HostTensors& tensors,
                               const GradientRows& rows) {
  return exact_backward(problem,
                        {tensors.q.tensor(), tensors.k.tensor(), tensors.v.tensor(),
                         tensors.d_o.tensor(), tensors.o.tensor(), tensors.lse},
                        rows);
}

TEST(CudnnAttentionGraph, IsTheDefinitionForward) {
  const Api api = fake_api();
  for (const Problem& problem : problems_with_a_graph()) {
    HostTensors tensors(problem);
    run_forward(api, problem, tensors);
    const std::vector<QueryRow> rows = all_rows(problem);
    const ErrorMetrics error =
        error_metrics(gather_rows(problem, tensors.o.tensor(), tensors.lse, rows),
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
    const ExactGradients want = exact_gradients(problem, tensors, rows);
    for (const bool is_deterministic : {false, true}) {
      run_backward(api, problem, is_deterministic, tensors);
      const HalfGradients got = gather_gradients(
          problem, {tensors.dq.tensor(), tensors.dk.tensor(), tensors.dv.tensor()}, rows);
      EXPECT_EQ(why_incorrect(gradient_errors(got, want), {}, kOneRounding), "")
          << name_of(problem) << ", deterministic " << is_deterministic;
    }
  }
}

TEST(CudnnAttentionGraph, IsTheDefinitionWhereHeadsShareKeys) {
  const Api api = fake_api();
  for (const Problem& problem : problems_with_groups()) {
    HostTensors tensors(problem);
    run_forward(api, problem, tensors);
    const GradientRows rows = all_gradient_rows(problem);
    const ErrorMetrics error =
        error_metrics(gather_rows(problem, tensors.o.tensor(), tensors.lse, rows.dq),
                      exact_forward(problem, tensors.inputs.view(), rows.dq));
    EXPECT_EQ(why_incorrect(error, {}, kOneRounding), "") << name_of(problem);
    run_backward(api, problem, false, tensors);
    const HalfGradients got = gather_gradients(
        problem, {tensors.dq.tensor(), tensors.dk.tensor(), tensors.dv.tensor()}, rows);
    EXPECT_EQ(why_incorrect(gradient_errors(got, exact_gradients(problem, tensors, rows)), {},
                            kTwoRoundings),
              "")
        << name_of(problem) << ", heads_k " << problem.heads_k;
  }
}

TEST(CudnnAttentionGraph, ReadsAndWritesEveryLayoutInPlace) {
  const Api api = fake_api();
  const Problem problem{2, 3, 5, 9, 8, MaskSpec::window(3)};
  const GradientRows rows = all_gradient_rows(problem);
  for (const TestLayout layout : kTestLayouts) {
    HostTensors tensors(problem, layout);
    run_forward(api, problem, tensors);
    const ErrorMetrics error =
        error_metrics(gather_rows(problem, tensors.o.tensor(), tensors.lse, rows.dq),
                      exact_forward(problem, tensors.inputs.view(), rows.dq));
    EXPECT_EQ(why_incorrect(error, {}, kOneRounding), "") << name_of(layout);
    run_backward(api, problem, false, tensors);
    const HalfGradients got = gather_gradients(
        problem, {tensors.dq.tensor(), tensors.dk.tensor(), tensors.dv.tensor()}, rows);
    EXPECT_EQ(why_incorrect(gradient_errors(got, exact_gradients(problem, tensors, rows)), {},
                            kOneRounding),
              "")
        << name_of(layout);
    EXPECT_TRUE(tensors.have_untouched_gaps()) << name_of(layout);
  }
}

/// Lengths that differ, empty ones among them, and more rows than keys.
const std::vector<SequenceLength> kLengths = {{7, 7}, {0, 0}, {1, 4}, {9, 5},
                                              {3, 0}, {0, 2}, {5, 6}};
const std::vector<SequenceLength> kSquares = {{7, 7}, {1, 1}, {4, 4}};

Problem packed_problem(const std::vector<SequenceLength>& lengths, const MaskSpec& mask,
                       float dropout_p = 0.0f, int heads_k = 4) {
  const Problem of_each{.heads = 4,
                        .head_dim = 8,
                        .mask = mask,
                        .dropout_p = dropout_p,
                        .seed = 77,
                        .heads_k = heads_k};
  return with_lengths(of_each, std::make_shared<const SequenceLengths>(lengths));
}

/// Every mask that has a graph, with and without heads that share keys and dropout.
std::vector<Problem> packed_problems() {
  std::vector<Problem> problems;
  for (const MaskSpec& mask : kTestMasks) {
    for (const int heads_k : {4, 2}) {
      for (const Problem& problem : {packed_problem(kLengths, mask, 0.0f, heads_k),
                                     packed_problem(kSquares, mask, 0.0f, heads_k),
                                     packed_problem(kSquares, mask, 0.25f, heads_k)}) {
        if (!why_no_graph(problem, kVersion)) problems.push_back(problem);
      }
    }
  }
  return problems;
}

/// What cuDNN is not given is not written, and so as it was: zero, and this.
void expect_no_key(const HostTensors& tensors, int heads) {
  for (const Range& range : tensors.batch->blind_rows) {
    for (int row = range.begin; row < range.end; ++row) {
      for (int head = 0; head < heads; ++head) {
        const auto at = static_cast<std::size_t>(head * tensors.batch->total_rows + row);
        EXPECT_EQ(tensors.lse[at], -std::numeric_limits<float>::infinity()) << row;
      }
    }
  }
}

void make_blind(HostTensors& tensors) {
  std::ranges::fill(tensors.lse, -std::numeric_limits<float>::infinity());
  for (LaidOutTensor* written : {&tensors.o, &tensors.dq, &tensors.dk, &tensors.dv}) {
    const std::vector<Half> zeros(written->tensor().size());
    *written = LaidOutTensor(zeros, written->shape, TestLayout::kContiguous);
  }
}

TEST(CudnnAttentionGraph, IsTheDefinitionOfPackedSequences) {
  const Api api = fake_api();
  EXPECT_EQ(packed_problems().size(), 48u);  // 8 masks: no prefix
  for (const Problem& problem : packed_problems()) {
    SCOPED_TRACE(name_of(problem) + ", heads_k " + std::to_string(problem.heads_k));
    HostTensors tensors(problem);
    make_blind(tensors);
    run_forward(api, problem, tensors);
    const GradientRows rows = all_gradient_rows(problem);
    const ErrorMetrics error =
        error_metrics(gather_rows(problem, tensors.o.tensor(), tensors.lse, rows.dq),
                      exact_forward(problem, tensors.inputs.view(), rows.dq));
    EXPECT_EQ(why_incorrect(error, {}, kOneRounding), "");
    expect_no_key(tensors, problem.heads);
    const ExactGradients want = exact_gradients(problem, tensors, rows);
    for (const bool is_deterministic : {false, true}) {
      run_backward(api, problem, is_deterministic, tensors);
      const HalfGradients got = gather_gradients(
          problem, {tensors.dq.tensor(), tensors.dk.tensor(), tensors.dv.tensor()}, rows);
      EXPECT_EQ(why_incorrect(gradient_errors(got, want), {}, kTwoRoundings), "")
          << "deterministic " << is_deterministic;
    }
  }
}

TEST(CudnnAttentionGraph, LeavesOutPackedSequencesThatCudnnDoesNotSupport) {
  const auto why_none = [](const Problem& problem, std::size_t version = kVersion) {
    return why_no_graph(problem, version).value_or("");
  };
  const MaskSpec causal = MaskSpec::causal(), full = MaskSpec::full();
  EXPECT_EQ(why_none(packed_problem(kLengths, full, 0.25f)), "");
  EXPECT_EQ(why_none(packed_problem(kLengths, causal)), "");
  EXPECT_EQ(why_none(packed_problem(kSquares, causal, 0.25f)), "");
  EXPECT_EQ(why_none(packed_problem({{9, 5}, {2, 2}}, causal, 0.25f)), "");
  EXPECT_EQ(why_none(packed_problem(kLengths, causal, 0.25f)),
            "dropout under a mask where a sequence has more keys than rows that see any");
  EXPECT_EQ(why_none(packed_problem(kLengths, MaskSpec::prefix(2))), "the mask prefix:2");
  EXPECT_EQ(why_none(packed_problem(kLengths, full), 91001),
            "packed sequences before version 9.10.2");
  EXPECT_EQ(why_none(packed_problem({{2048, 2048}}, MaskSpec::band(7, 2)), 91400),
            "bands of more than 1024 keys in version 9.14.0");
}

/// Empty where there is a graph.
std::string why_none(const MaskSpec& mask, int seqlen_q, int seqlen_k, float dropout_p = 0.0f,
                     std::size_t version = kVersion) {
  Problem problem{1, 1, seqlen_q, seqlen_k, 64, mask, dropout_p};
  return why_no_graph(problem, version).value_or("");
}

TEST(CudnnAttentionGraph, LeavesOutWhatCudnnDoesNotSupport) {
  const MaskSpec causal = MaskSpec::causal(), window = MaskSpec::window(3);
  for (const MaskSpec& mask : {causal, window}) {
    EXPECT_EQ(why_none(mask, 9, 5), "rows without a visible key");
    EXPECT_EQ(why_none(mask, 5, 9, 0.25f), "dropout under a mask of unequal lengths");
    EXPECT_EQ(why_none(mask, 5, 9), "");
    EXPECT_EQ(why_none(mask, 9, 9, 0.25f), "");
  }
  EXPECT_EQ(why_none(MaskSpec::full(), 9, 5, 0.25f), "");
  EXPECT_EQ(why_none(MaskSpec::prefix(3), 9, 9), "the mask prefix:3");
}

TEST(CudnnAttentionGraph, LeavesOutHeadDimsThatAreNoMultipleOf8) {
  EXPECT_EQ(why_no_graph({.head_dim = 100}, kVersion).value_or(""),
            "head_dim 100 (multiples of 8 are supported)");
  EXPECT_FALSE(why_no_graph({.head_dim = 80}, kVersion));
}

TEST(CudnnAttentionGraph, LeavesOutBandsOfVersionsWithoutThem) {
  const MaskSpec band = MaskSpec::band(7, 2);
  EXPECT_EQ(why_none(MaskSpec::causal(), 9, 9, 0.0f, 90100), "");
  EXPECT_EQ(why_none(MaskSpec::window(3), 9, 9, 0.0f, 91001),
            "windows and bands before version 9.10.2");
  EXPECT_EQ(why_none(band, 9, 9, 0.0f, 91002), "");
  EXPECT_EQ(why_none(band, 2048, 2048, 0.0f, 91400),
            "bands of more than 1024 keys in version 9.14.0");
  EXPECT_EQ(why_none(MaskSpec::window(3), 2048, 2048, 0.0f, 91400), "");
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

TEST_F(InstalledCudnn, HasKernelsForPackedSequences) {
  for (Problem problem : packed_problems()) {
    for (const int head_dim : {64, 128}) {
      problem.head_dim = head_dim;
      const RaggedBatch batch = ragged_batch(problem);
      const AttentionStrides strides = contiguous_strides(problem);
      const AttentionPlan plan{problem, strides, api_->version(), &batch};
      Graph forward(*api_), backward(*api_), deterministic(*api_);
      add_forward(forward, plan);
      add_backward(backward, plan, false);
      add_backward(deterministic, plan, true);
      for (const Graph* graph : {&forward, &backward, &deterministic}) {
        EXPECT_NO_THROW(count_kernels(*graph)) << name_of(problem) << ", head_dim " << head_dim;
      }
    }
  }
}

TEST_F(InstalledCudnn, HasKernelsForEveryGraph) {
  std::vector<Problem> problems = problems_with_a_graph(), groups = problems_with_groups();
  problems.insert(problems.end(), groups.begin(), groups.end());
  for (Problem problem : problems) {
    for (const int head_dim : {64, 128}) {
      problem.head_dim = head_dim;
      Graph forward(*api_), backward(*api_), deterministic(*api_);
      const AttentionStrides strides = contiguous_strides(problem);
      const AttentionPlan plan{problem, strides, api_->version()};
      add_forward(forward, plan);
      add_backward(backward, plan, false);
      add_backward(deterministic, plan, true);
      for (const Graph* graph : {&forward, &backward, &deterministic}) {
        EXPECT_NO_THROW(count_kernels(*graph)) << name_of(problem) << ", head_dim " << head_dim;
      }
    }
  }
}

}  // namespace
}  // namespace sparkbench::cudnn
