// The Volta forward kernels on the GPU: against the definition, and bit for bit against the
// emulated machine with the arithmetic that m8n8k4 has on that GPU.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "kernels/launch/run_gpu.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_gpu.h"
#include "kernels/testing/test_problems.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/inputs/inputs.h"
#include "reference/unfused/unfused.h"

namespace sparkbench {
namespace {

constexpr std::string_view kKernels[] = {"volta-fp16acc", "volta-fp32acc"};

struct ForwardOutputs {
  std::vector<Half> o;
  std::vector<float> lse;
};

ForwardOutputs run_on_gpu(std::string_view kernel, const Problem& problem,
                          const OwnedInputs& inputs) {
  const DeviceBuffer q = upload(inputs.q), k = upload(inputs.k), v = upload(inputs.v);
  const DeviceBuffer o = poisoned(problem.q_elements() * sizeof(Half));
  const DeviceBuffer lse = poisoned(problem.lse_elements() * sizeof(float));
  const ForwardTensors tensors = contiguous_tensors(problem, q.as<Half>(), k.as<Half>(),
                                                    v.as<Half>(), o.as<Half>(), lse.as<float>());
  run_on_stream(
      plan_on_gpu(*find_attention_kernel(kernel), forward_request(problem, tensors), nullptr),
      nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  return {download<Half>(o, problem.q_elements()), download<float>(lse, problem.lse_elements())};
}

class VoltaForwardGpu : public testing::TestWithParam<std::tuple<std::string_view, int, int>> {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
  }
};

void expect_correct(std::string_view kernel, const Problem& problem) {
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 7);
  const std::vector<QueryRow> rows = all_rows(problem);
  const ExactRows want = exact_forward(problem, inputs.view(), rows);
  const ForwardRows unfused = unfused_forward(
      problem, inputs.view(), rows, {native_profile(), find_attention_kernel(kernel)->accumulator});
  const ForwardOutputs got = run_on_gpu(kernel, problem, inputs);
  const ErrorMetrics error = error_metrics(gather_rows(problem, got.o, got.lse, rows), want);
  EXPECT_EQ(why_incorrect(error, error_metrics(unfused, want), {}), "");
}

TEST_P(VoltaForwardGpu, MatchesTheDefinitionForEveryLengthAndMask) {
  const auto [kernel, head_dim, seqlen_q] = GetParam();
  for (const int seqlen_k : some_lengths(seqlen_q)) {
    for_every_mask_and_some_dropout(
        head_dim, {seqlen_q, seqlen_k},
        [kernel = kernel](const Problem& problem) { expect_correct(kernel, problem); });
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, VoltaForwardGpu,
                         testing::Combine(testing::ValuesIn(kKernels), testing::Values(64, 128),
                                          testing::Values(1, 63, 64, 65, 127, 500, 1024)));
INSTANTIATE_TEST_SUITE_P(OtherTiles, VoltaForwardGpu,
                         testing::Combine(testing::ValuesIn(kKernels),
                                          testing::Values(80, 136, 256),
                                          testing::Values(1, 127, 500)));
/// One row is tested with FP32 scores only: how much larger an FP16 score's error is than another
/// computation's is chance there.
INSTANTIATE_TEST_SUITE_P(ZeroColumns, VoltaForwardGpu,
                         testing::Combine(testing::ValuesIn(kKernels), testing::Values(72),
                                          testing::Values(127, 500)));
INSTANTIATE_TEST_SUITE_P(ZeroColumnsOfOneRow, VoltaForwardGpu,
                         testing::Combine(testing::Values("volta-fp32acc"), testing::Values(72),
                                          testing::Values(1)));

class VoltaForwardGpuBits : public VoltaForwardGpu {};

void expect_forward_bits(std::string_view kernel, const Problem& problem) {
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 5);
  const ForwardOutputs gpu = run_on_gpu(kernel, problem, inputs);
  ForwardOutputs emulated{std::vector<Half>(problem.q_elements()),
                          std::vector<float>(problem.lse_elements())};
  emulate_forward(*find_attention_kernel(kernel), problem,
                  contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                                     emulated.o.data(), emulated.lse.data()),
                  {.profile = &native_profile()}, {});
  std::size_t different = 0;
  for (std::size_t i = 0; i < gpu.o.size(); ++i) different += gpu.o[i].bits != emulated.o[i].bits;
  EXPECT_EQ(different, 0u) << "of " << gpu.o.size() << " elements of O";
  EXPECT_EQ(std::memcmp(gpu.lse.data(), emulated.lse.data(), gpu.lse.size() * sizeof(float)), 0);
  std::cout << gpu.o.size() << " elements of O compared, " << name_of(problem.mask) << "\n";
}

/// Every instruction that the kernel executes is modelled bit for bit, the special functions too.
/// Over the instances these are more than ten million elements.
TEST_P(VoltaForwardGpuBits, EqualTheEmulatedMachines) {
  const auto [kernel, head_dim, seqlen] = GetParam();
  for (const MaskSpec& mask :
       {MaskSpec::causal(), MaskSpec::window(100), MaskSpec::band(130, 20)}) {
    expect_forward_bits(kernel, {.batch = 4,
                                 .heads = 16,
                                 .seqlen_q = seqlen,
                                 .seqlen_k = seqlen,
                                 .head_dim = head_dim,
                                 .mask = mask,
                                 .dropout_p = 0.1f,
                                 .seed = 3,
                                 .heads_k = mask == MaskSpec::causal() ? 16 : 2});
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, VoltaForwardGpuBits,
                         testing::Combine(testing::ValuesIn(kKernels),
                                          testing::Values(64, 128, 256), testing::Values(500)));
/// Short blocks, also with causal masks.
INSTANTIATE_TEST_SUITE_P(ShortBlocks, VoltaForwardGpuBits,
                         testing::Combine(testing::ValuesIn(kKernels), testing::Values(128),
                                          testing::Values(300)));

}  // namespace
}  // namespace sparkbench
