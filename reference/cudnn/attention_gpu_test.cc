// cuDNN's attention on the GPU, against the definition.
#include "reference/cudnn/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "kernels/testing/test_gpu.h"
#include "reference/cudnn/supported_problems.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"
#include "reference/tensors/test_device_tensor.h"
#include "reference/unfused/unfused.h"
#include "reference/unfused/unfused_backward.h"

namespace sparkbench {
namespace {

constexpr std::uint64_t kSeed = 7;

/// A problem's tensors on the GPU.
struct DeviceTensors {
  DeviceTensors(const Problem& problem, const OwnedInputs& inputs, const std::vector<Half>& d_out)
      : problem_(problem),
        q(upload(inputs.q)),
        k(upload(inputs.k)),
        v(upload(inputs.v)),
        d_o(upload(d_out)),
        o(poisoned(problem.q_elements() * sizeof(Half))),
        lse(poisoned(problem.lse_elements() * sizeof(float))),
        dq(poisoned(problem.q_elements() * sizeof(Half))),
        dk(poisoned(problem.k_elements() * sizeof(Half))),
        dv(poisoned(problem.k_elements() * sizeof(Half))) {}

  ForwardTensors forward() const {
    return contiguous_tensors(problem_, q.as<Half>(), k.as<Half>(), v.as<Half>(), o.as<Half>(),
                              lse.as<float>());
  }
  BackwardTensors backward() const {
    return contiguous_tensors(problem_, q.as<Half>(), k.as<Half>(), v.as<Half>(), o.as<Half>(),
                              d_o.as<Half>(), lse.as<float>(), dq.as<Half>(), dk.as<Half>(),
                              dv.as<Half>());
  }

  Problem problem_;
  DeviceBuffer q, k, v, d_o, o, lse, dq, dk, dv;
};

/// head_dim, seqlen_q, seqlen_k, mask
class CudnnAttentionGpu : public testing::TestWithParam<std::tuple<int, int, int, MaskSpec>> {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
    cudaDeviceProp properties;
    CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
    if (!has_cudnn_attention(10 * properties.major + properties.minor)) {
      GTEST_SKIP() << "no libcudnn.so.9, or compute capability below 8.0";
    }
  }
};

bool is_declined(const Problem& problem) {
  return cudnn::why_no_graph(problem, cudnn::load_api()->version()).has_value();
}

std::string why_forward_is_wrong(const Problem& problem, const OwnedInputs& inputs,
                                 const DeviceTensors& tensors) {
  const std::vector<QueryRow> rows = all_rows(problem);
  const ExactRows want = exact_forward(problem, inputs.view(), rows);
  const ForwardRows got = gather_rows(problem, download<Half>(tensors.o, problem.q_elements()),
                                      download<float>(tensors.lse, problem.lse_elements()), rows);
  const ForwardRows unfused = unfused_forward(problem, inputs.view(), rows,
                                              {arithmetic_profile("ampere"), Accumulator::kFp32});
  return why_incorrect(error_metrics(got, want), error_metrics(unfused, want), {});
}

std::string why_backward_is_wrong(const Problem& problem, const OwnedInputs& inputs,
                                  const std::vector<Half>& d_o, const DeviceTensors& tensors) {
  const std::vector<Half> o = download<Half>(tensors.o, problem.q_elements());
  const std::vector<float> lse = download<float>(tensors.lse, problem.lse_elements());
  const BackwardInputs view{inputs.q, inputs.k, inputs.v, d_o, o, lse};
  const GradientRows rows = all_gradient_rows(problem);
  const ExactGradients want = exact_backward(problem, view, rows);
  const HalfGradients got = gather_gradients(problem,
                                             {download<Half>(tensors.dq, problem.q_elements()),
                                              download<Half>(tensors.dk, problem.k_elements()),
                                              download<Half>(tensors.dv, problem.k_elements())},
                                             rows);
  const HalfGradients unfused =
      unfused_backward(problem, view, rows, {arithmetic_profile("ampere"), Accumulator::kFp32});
  return why_incorrect(gradient_errors(got, want), gradient_errors(unfused, want), {});
}

TEST_P(CudnnAttentionGpu, MatchesTheDefinitionForwardAndBackward) {
  const auto [head_dim, seqlen_q, seqlen_k, mask] = GetParam();
  const int heads_k = mask == MaskSpec::band(20, 5) ? 1 : 3;  // with and without shared keys
  const Problem problem{2, 3, seqlen_q, seqlen_k, head_dim, mask, 0.0f, 0.0f, 0, heads_k};
  if (is_declined(problem)) return;  // the AttentionGraph tests cover declined problems
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, kSeed);
  const std::vector<Half> d_o = make_gradient_input(problem, Distribution::kNormal, kSeed);
  const DeviceTensors tensors(problem, inputs, d_o);
  for (const bool is_deterministic : {false, true}) {
    const CudnnAttention attention(problem, Pass::kForwardBackward, is_deterministic);
    attention.forward(tensors.forward(), nullptr);
    attention.backward(tensors.backward(), nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    EXPECT_EQ(why_forward_is_wrong(problem, inputs, tensors), "");
    EXPECT_EQ(why_backward_is_wrong(problem, inputs, d_o, tensors), "")
        << "deterministic " << is_deterministic;
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, CudnnAttentionGpu,
                         testing::Combine(testing::Values(64, 80, 128),
                                          testing::Values(64, 200, 333),
                                          testing::Values(64, 200, 500),
                                          testing::Values(MaskSpec::full(), MaskSpec::causal(),
                                                          MaskSpec::window(1), MaskSpec::window(37),
                                                          MaskSpec::window(128),
                                                          MaskSpec::band(20, 5))));

using CudnnAttentionLayoutGpu = CudnnAttentionGpu;

TEST_P(CudnnAttentionLayoutGpu, ReadsAndWritesEveryLayoutInPlace) {
  const auto [head_dim, seqlen_q, seqlen_k, mask] = GetParam();
  const Problem problem{2, 3, seqlen_q, seqlen_k, head_dim, mask};
  if (is_declined(problem)) GTEST_SKIP() << "this cuDNN has no graph for it";
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, kSeed);
  const std::vector<Half> d_out = make_gradient_input(problem, Distribution::kNormal, kSeed);
  const TensorShape queries = query_shape(problem), keys = key_shape(problem);
  const GradientRows rows = all_gradient_rows(problem);
  const ExactRows exact = exact_forward(problem, inputs.view(), rows.dq);
  for (const TestLayout layout : kTestLayouts) {
    const DeviceTensor q(LaidOutTensor(inputs.q, queries, layout));
    const DeviceTensor k(LaidOutTensor(inputs.k, keys, layout));
    const DeviceTensor v(LaidOutTensor(inputs.v, keys, layout));
    const DeviceTensor d_o(LaidOutTensor(d_out, queries, layout));
    const DeviceTensor o(LaidOutTensor(queries, layout)), dq(LaidOutTensor(queries, layout));
    const DeviceTensor dk(LaidOutTensor(keys, layout)), dv(LaidOutTensor(keys, layout));
    const DeviceBuffer lse = poisoned(problem.lse_elements() * sizeof(float));
    const RowStrides of_queries = strides_in(layout, queries), of_keys = strides_in(layout, keys);
    const CudnnAttention attention(
        problem, Pass::kForwardBackward, false,
        {of_queries, of_keys, of_keys, of_queries, of_queries, of_queries, of_keys, of_keys});
    attention.forward({q.view(), k.view(), v.view(), o.view(), lse.as<float>()}, nullptr);
    attention.backward({q.view(), k.view(), v.view(), o.view(), d_o.view(), lse.as<float>(),
                        dq.view(), dk.view(), dv.view()},
                       nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    const LaidOutTensor got_o = o.to_host(), got_dq = dq.to_host(), got_dk = dk.to_host(),
                        got_dv = dv.to_host();
    const std::vector<float> got_lse = download<float>(lse, problem.lse_elements());
    const ErrorMetrics error =
        error_metrics(gather_rows(problem, got_o.tensor(), got_lse, rows.dq), exact);
    EXPECT_EQ(why_incorrect(error, {}, {.ratio = 0.0, .floor = 0x1p-8}), "") << name_of(layout);
    const ExactGradients want = exact_backward(
        problem, {inputs.q, inputs.k, inputs.v, d_out, got_o.tensor(), got_lse}, rows);
    const HalfGradients got =
        gather_gradients(problem, {got_dq.tensor(), got_dk.tensor(), got_dv.tensor()}, rows);
    EXPECT_EQ(why_incorrect(gradient_errors(got, want), {}, {.ratio = 0.0, .floor = 0x1p-7}), "")
        << name_of(layout);
    for (const LaidOutTensor* written : {&got_o, &got_dq, &got_dk, &got_dv}) {
      EXPECT_TRUE(written->has_untouched_gaps()) << name_of(layout);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, CudnnAttentionLayoutGpu,
                         testing::Values(std::tuple(64, 200, 200, MaskSpec::causal()),
                                         std::tuple(128, 200, 333, MaskSpec::window(37))));

}  // namespace
}  // namespace sparkbench
