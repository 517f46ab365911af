// The Volta forward kernels on the GPU: against the definition, and bit for bit against the
// emulated machine with the arithmetic that m8n8k4 has on that GPU.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/registry.h"
#include "kernels/volta/gpu_test_support.h"
#include "reference/error_metrics.h"
#include "reference/exact.h"
#include "reference/inputs.h"
#include "reference/unfused.h"

namespace sparkbench {
namespace {

struct Outputs {
  std::vector<Half> o;
  std::vector<float> lse;
};

const AttentionKernel& kernel_of(Accumulator accumulator) {
  return *find_attention_kernel(accumulator == Accumulator::kFp16 ? "volta-fp16acc"
                                                                  : "volta-fp32acc");
}

Outputs run_on_gpu(Accumulator accumulator, const Problem& problem, const OwnedInputs& inputs) {
  const DeviceBuffer q = upload(inputs.q), k = upload(inputs.k), v = upload(inputs.v);
  const DeviceBuffer o = poisoned(problem.q_elements() * sizeof(Half));
  const DeviceBuffer lse = poisoned(problem.lse_elements() * sizeof(float));
  kernel_of(accumulator)
      .forward.launch(problem,
                      {q.as<Half>(), k.as<Half>(), v.as<Half>(), o.as<Half>(), lse.as<float>()},
                      nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  return {download<Half>(o, problem.q_elements()), download<float>(lse, problem.lse_elements())};
}

class VoltaForwardGpu : public testing::TestWithParam<std::tuple<Accumulator, int, int>> {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
  }
};

void expect_correct(Accumulator accumulator, const Problem& problem) {
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 7);
  const std::vector<QueryRow> rows = all_rows(problem);
  const ExactRows want = exact_forward(problem, inputs.view(), rows);
  const ForwardRows unfused =
      unfused_fp16_forward(problem, inputs.view(), rows, {native_profile(), accumulator});
  const Outputs got = run_on_gpu(accumulator, problem, inputs);
  const ErrorMetrics error = error_metrics(gather_rows(problem, got.o, got.lse, rows), want);
  EXPECT_EQ(why_incorrect(error, error_metrics(unfused, want), {}), "");
}

TEST_P(VoltaForwardGpu, MatchesTheDefinitionForEveryKeyLengthMaskAndDropout) {
  const auto [accumulator, head_dim, seqlen_q] = GetParam();
  for (const int seqlen_k : {1, 63, 64, 65, 127, 500, 1024}) {
    for (const bool causal : {false, true}) {
      for (const float dropout_p : {0.0f, 0.1f, 0.5f}) {
        SCOPED_TRACE(testing::Message() << "seqlen_k " << seqlen_k << ", causal " << causal
                                        << ", dropout " << dropout_p);
        expect_correct(accumulator, {.batch = 1,
                                     .heads = 2,
                                     .seqlen_q = seqlen_q,
                                     .seqlen_k = seqlen_k,
                                     .head_dim = head_dim,
                                     .causal = causal,
                                     .dropout_p = dropout_p,
                                     .seed = 11});
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, VoltaForwardGpu,
                         testing::Combine(testing::Values(Accumulator::kFp16, Accumulator::kFp32),
                                          testing::Values(64, 128),
                                          testing::Values(1, 63, 64, 65, 127, 500, 1024)));

class VoltaForwardGpuBits : public VoltaForwardGpu {};

/// exp2 and log2 are the only operations whose bits the emulated machine does not have: it rounds
/// them correctly, the GPU's are up to 2 ulp off. Few such differences survive the rounding of P
/// and O to fp16.
TEST_P(VoltaForwardGpuBits, EqualTheEmulatedMachinesButForTheSpecialFunctions) {
  const auto [accumulator, head_dim, seqlen] = GetParam();
  const Problem problem{.heads = 2,
                        .seqlen_q = seqlen,
                        .seqlen_k = seqlen,
                        .head_dim = head_dim,
                        .causal = true,
                        .dropout_p = 0.1f,
                        .seed = 3};
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 5);
  const Outputs gpu = run_on_gpu(accumulator, problem, inputs);
  Outputs emulated{std::vector<Half>(problem.q_elements()),
                   std::vector<float>(problem.lse_elements())};
  kernel_of(accumulator)
      .forward.emulate(problem,
                       {inputs.q.data(), inputs.k.data(), inputs.v.data(), emulated.o.data(),
                        emulated.lse.data()},
                       {.profile = &native_profile()}, {});
  std::size_t different = 0, far = 0;
  for (std::size_t i = 0; i < gpu.o.size(); ++i) {
    const float a = to_float(gpu.o[i]), b = to_float(emulated.o[i]);
    different += gpu.o[i].bits != emulated.o[i].bits;
    far += !(std::abs(a - b) <= 0x1p-9f * std::max(0x1p-3f, std::abs(b)));
  }
  RecordProperty("different", static_cast<int>(different));
  std::cout << "O differs in " << different << " of " << gpu.o.size() << " elements\n";
  EXPECT_EQ(far, 0u);
  EXPECT_LT(static_cast<double>(different), 0.2 * static_cast<double>(gpu.o.size()));
}

INSTANTIATE_TEST_SUITE_P(Grid, VoltaForwardGpuBits,
                         testing::Combine(testing::Values(Accumulator::kFp16, Accumulator::kFp32),
                                          testing::Values(64, 128), testing::Values(500)));

}  // namespace
}  // namespace sparkbench
