// cuDNN's attention on the GPU, against the definition.
#include "reference/cudnn/attention.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "kernels/volta/test_gpu.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"
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

/// head_dim, seqlen_q, seqlen_k, causal
class CudnnAttentionGpu : public testing::TestWithParam<std::tuple<int, int, int, bool>> {
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

std::string why_forward_is_wrong(const Problem& problem, const OwnedInputs& inputs,
                                 const DeviceTensors& tensors) {
  const std::vector<QueryRow> rows = all_rows(problem);
  const ExactRows want = exact_forward(problem, inputs.view(), rows);
  const ForwardRows got = gather_rows(problem, download<Half>(tensors.o, problem.q_elements()),
                                      download<float>(tensors.lse, problem.lse_elements()), rows);
  const ForwardRows unfused = unfused_fp16_forward(
      problem, inputs.view(), rows, {arithmetic_profile("ampere"), Accumulator::kFp32});
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
  const HalfGradients unfused = unfused_fp16_backward(
      problem, view, rows, {arithmetic_profile("ampere"), Accumulator::kFp32});
  return why_incorrect(gradient_errors(got, want), gradient_errors(unfused, want), {});
}

TEST_P(CudnnAttentionGpu, MatchesTheDefinitionForwardAndBackward) {
  const auto [head_dim, seqlen_q, seqlen_k, causal] = GetParam();
  if (causal && seqlen_q > seqlen_k) return;  // declined, as AttentionGraph tests
  const Problem problem{2, 3, seqlen_q, seqlen_k, head_dim, MaskSpec::causal_if(causal)};
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
                         testing::Combine(testing::Values(64, 128), testing::Values(64, 200, 333),
                                          testing::Values(64, 200, 500), testing::Bool()));

}  // namespace
}  // namespace sparkbench
