// cuDNN's varlen attention on the GPU, against the definition.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/testing/test_gpu.h"
#include "reference/cudnn/attention.h"
#include "reference/cudnn/supported_problems.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"
#include "reference/tensors/test_device_tensor.h"

namespace sparkbench {
namespace {

constexpr std::uint64_t kPackedSeed = 7;
constexpr Tolerance kForwardTolerance{.ratio = 0.0, .floor = 0x1p-9};
constexpr Tolerance kBackwardTolerance{.ratio = 0.0, .floor = 0x1p-7};

using Lengths = std::vector<SequenceLength>;

/// Sequences with more keys than rows and with fewer, empty on either side and on both, several
/// tiles.
const Lengths kMixed = {{70, 65}, {0, 0}, {130, 300}, {1, 1}, {7, 0}, {0, 9}, {509, 7}, {31, 31}};
const Lengths kSquares = {{65, 65}, {1, 1}, {130, 130}, {31, 31}, {257, 257}};

Problem packed_problem(const Lengths& lengths, const MaskSpec& mask, int head_dim, int heads_k) {
  const Problem of_each{
      .heads = 4, .head_dim = head_dim, .mask = mask, .seed = kPackedSeed, .heads_k = heads_k};
  return with_lengths(of_each, std::make_shared<const SequenceLengths>(lengths));
}

/// Inputs and poisoned outputs on the GPU, and the results of the passes.
struct PackedRun {
  PackedRun(const Problem& of, TestLayout layout)
      : problem(of),
        queries(query_shape(of.packed())),
        keys(key_shape(of.packed())),
        inputs(make_inputs(of, Distribution::kNormal, kPackedSeed)),
        d_out(make_gradient_input(of, Distribution::kNormal, kPackedSeed)),
        q(LaidOutTensor(inputs.q, queries, layout)),
        k(LaidOutTensor(inputs.k, keys, layout)),
        v(LaidOutTensor(inputs.v, keys, layout)),
        d_o(LaidOutTensor(d_out, queries, layout)),
        o(LaidOutTensor(queries, layout)),
        dq(LaidOutTensor(queries, layout)),
        dk(LaidOutTensor(keys, layout)),
        dv(LaidOutTensor(keys, layout)),
        lse_memory(poisoned(of.lse_elements() * sizeof(float))) {}

  void run(bool is_deterministic) {
    const ForwardTensors forward{q.view(), k.view(), v.view(), o.view(), lse_memory.as<float>()};
    const BackwardTensors backward{q.view(),  k.view(),   v.view(),
                                   o.view(),  d_o.view(), lse_memory.as<float>(),
                                   dq.view(), dk.view(),  dv.view()};
    const CudnnAttention attention(problem, Pass::kForwardBackward, is_deterministic,
                                   attention_strides(forward, &backward));
    attention.forward(forward, nullptr);
    attention.backward(backward, nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    lse = download<float>(lse_memory, problem.lse_elements());
    for (const DeviceTensor* written : {&o, &dq, &dk, &dv}) {
      EXPECT_TRUE(written->to_host().has_untouched_gaps());
    }
  }
  std::string why_forward_is_wrong() const {
    const std::vector<QueryRow> rows = all_rows(problem);
    return why_incorrect(error_metrics(gather_rows(problem, o.to_host().tensor(), lse, rows),
                                       exact_forward(problem, inputs.view(), rows)),
                         {}, kForwardTolerance);
  }
  std::string why_backward_is_wrong() const {
    const GradientRows rows = all_gradient_rows(problem);
    const LaidOutTensor of_o = o.to_host();
    const HalfGradients got = gather_gradients(
        problem, {dq.to_host().tensor(), dk.to_host().tensor(), dv.to_host().tensor()}, rows);
    const ExactGradients want =
        exact_backward(problem, {inputs.q, inputs.k, inputs.v, d_out, of_o.tensor(), lse}, rows);
    return why_incorrect(gradient_errors(got, want), {}, kBackwardTolerance);
  }

  Problem problem;
  TensorShape queries, keys;
  OwnedInputs inputs;
  std::vector<Half> d_out;
  DeviceTensor q, k, v, d_o, o, dq, dk, dv;
  DeviceBuffer lse_memory;
  std::vector<float> lse;
};

class PackedCudnnAttentionGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
    cudaDeviceProp properties;
    CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
    if (!has_packed_cudnn_attention(10 * properties.major + properties.minor)) {
      GTEST_SKIP() << "no libcudnn.so.9, or compute capability below 9.0";
    }
  }

  static void expect_is_the_definition(const Problem& problem,
                                       TestLayout layout = TestLayout::kContiguous) {
    if (const auto why = cudnn::why_no_graph(problem, cudnn::load_api()->version())) {
      GTEST_SKIP() << "this cuDNN does not support " << *why;
    }
    for (const bool is_deterministic : {false, true}) {
      SCOPED_TRACE(name_of(problem.mask) + ", head_dim " + std::to_string(problem.head_dim) +
                   ", heads_k " + std::to_string(problem.heads_k) + ", " + name_of(layout) +
                   ", deterministic " + std::to_string(is_deterministic));
      PackedRun run(problem, layout);
      run.run(is_deterministic);
      EXPECT_EQ(run.why_forward_is_wrong(), "");
      EXPECT_EQ(run.why_backward_is_wrong(), "");
    }
  }
};

TEST_F(PackedCudnnAttentionGpu, MatchesTheDefinitionForwardAndBackward) {
  for (const MaskSpec& mask :
       {MaskSpec::full(), MaskSpec::causal(), MaskSpec::window(20), MaskSpec::band(20, 5)}) {
    for (const Lengths& lengths : {kMixed, kSquares}) {
      for (const int heads_k : {4, 2}) {
        expect_is_the_definition(packed_problem(lengths, mask, 64, heads_k));
      }
    }
  }
}

TEST_F(PackedCudnnAttentionGpu, MatchesTheDefinitionForEveryHeadDim) {
  for (const int head_dim : {40, 80, 96, 128}) {
    expect_is_the_definition(packed_problem(kMixed, MaskSpec::causal(), head_dim, 1));
    expect_is_the_definition(packed_problem(kMixed, MaskSpec::full(), head_dim, 4));
  }
}

TEST_F(PackedCudnnAttentionGpu, ReadsAndWritesTokensThatLieApart) {
  for (const TestLayout layout : {TestLayout::kPacked, TestLayout::kPadded}) {
    expect_is_the_definition(packed_problem(kMixed, MaskSpec::causal(), 64, 4), layout);
    expect_is_the_definition(packed_problem(kMixed, MaskSpec::full(), 64, 2), layout);
  }
}

TEST_F(PackedCudnnAttentionGpu, MatchesTheDefinitionOfOneRowASequence) {
  const Lengths one_of_each{{1, 1}, {1, 1}, {1, 1}}, one_row{{1, 9}, {1, 300}, {1, 64}};
  for (const int heads_k : {4, 1}) {
    for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::causal()}) {
      expect_is_the_definition(packed_problem(one_of_each, mask, 64, heads_k));
      expect_is_the_definition(packed_problem(one_row, mask, 128, heads_k));
    }
  }
}

TEST_F(PackedCudnnAttentionGpu, ClearsWhatSeesNothing) {
  expect_is_the_definition(packed_problem({{0, 4}, {3, 0}}, MaskSpec::full(), 64, 2));
  expect_is_the_definition(packed_problem({{5, 1}, {9, 3}}, MaskSpec::causal(), 64, 2));
}

/// The elements of a contiguous tensor.
std::vector<Half> elements_of(const DeviceTensor& tensor, std::size_t count) {
  const LaidOutTensor host = tensor.to_host();
  const auto first = host.memory.begin() + static_cast<std::ptrdiff_t>(host.first);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

double dot(const std::vector<Half>& a, const std::vector<Half>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(to_float(a[i])) * static_cast<double>(to_float(b[i]));
  }
  return sum;
}

/// O is linear in V, so <O, dO> = <dV, V> only if both passes drop the same elements.
TEST_F(PackedCudnnAttentionGpu, DropsTheSameInBothPasses) {
  for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::causal()}) {
    for (const int heads_k : {4, 2}) {
      SCOPED_TRACE(name_of(mask) + ", heads_k " + std::to_string(heads_k));
      Problem problem = packed_problem(kSquares, mask, 64, heads_k);
      problem.dropout_p = 0.25f;
      PackedRun run(problem, TestLayout::kContiguous);
      run.run(false);
      const std::vector<Half> o = elements_of(run.o, problem.q_elements());
      const std::vector<Half> dv = elements_of(run.dv, problem.k_elements());
      const double scale = std::sqrt(dot(o, o) * dot(run.d_out, run.d_out));
      EXPECT_NEAR(dot(o, run.d_out) / scale, dot(dv, run.inputs.v) / scale, 0x1p-12);
      run.problem.dropout_p = 0.0f;
      EXPECT_NE(run.why_forward_is_wrong(), "") << "nothing was dropped";
    }
  }
}

}  // namespace
}  // namespace sparkbench
