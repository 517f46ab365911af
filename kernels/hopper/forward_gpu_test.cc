// The Hopper forward kernels on a GPU that has wgmma: against the definition, and bit for bit
// against the emulated machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <string_view>
#include <vector>

#include "kernels/hopper/test_gpu.h"
#include "kernels/hopper/test_inputs.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_problems.h"
#include "kernels/testing/test_sparse_gpu.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/unfused/unfused.h"

namespace sparkbench {
namespace {

constexpr std::string_view kForwardKernel = "hopper-fp32acc";

struct ForwardOutputs {
  std::vector<Half> o;
  std::vector<float> lse;
};

/// `change` changes the tensors' strides.
template <class Change>
ForwardOutputs run_on_gpu(const Problem& problem, const OwnedInputs& inputs, Change change) {
  const DeviceBuffer q = upload(inputs.q), k = upload(inputs.k), v = upload(inputs.v);
  const DeviceBuffer o = poisoned(problem.q_elements() * sizeof(Half));
  const DeviceBuffer lse = poisoned(problem.lse_elements() * sizeof(float));
  ForwardTensors tensors = contiguous_tensors(problem, q.as<Half>(), k.as<Half>(), v.as<Half>(),
                                              o.as<Half>(), lse.as<float>());
  change(tensors);
  run_on_stream(plan_on_gpu(*find_attention_kernel(kForwardKernel),
                            forward_request(problem, tensors), nullptr),
                nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  return {download<Half>(o, problem.q_elements()), download<float>(lse, problem.lse_elements())};
}

ForwardOutputs run_on_gpu(const Problem& problem, const OwnedInputs& inputs) {
  return run_on_gpu(problem, inputs, [](ForwardTensors&) {});
}

class HopperForwardGpu : public hopper::OnHopper<std::tuple<int, int>> {};

void expect_correct(const Problem& problem) {
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 7);
  const std::vector<QueryRow> rows = all_rows(problem);
  const ExactRows want = exact_forward(problem, inputs.view(), rows);
  const ForwardRows unfused = unfused_forward(problem, inputs.view(), rows,
                                              {arithmetic_profile("hopper"), Accumulator::kFp32});
  const ForwardOutputs got = run_on_gpu(problem, inputs);
  const ErrorMetrics error = error_metrics(gather_rows(problem, got.o, got.lse, rows), want);
  EXPECT_EQ(why_incorrect(error, error_metrics(unfused, want), {}), "");
}

TEST_P(HopperForwardGpu, MatchesTheDefinitionForEveryLengthAndMask) {
  const auto [head_dim, seqlen_q] = GetParam();
  for (const int seqlen_k : {1, 63, 64, 65, 129, 500, 1024}) {
    for_every_mask_and_dropout(head_dim, {seqlen_q, seqlen_k}, {0.0f, 0.1f}, expect_correct);
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, HopperForwardGpu,
                         testing::Combine(testing::Values(32, 64, 80, 96, 128, 256),
                                          testing::Values(1, 63, 192, 193, 500)));
INSTANTIATE_TEST_SUITE_P(Padded, HopperForwardGpu,
                         testing::Combine(testing::Values(8, 40, 72, 88, 104, 136),
                                          testing::Values(500)));

class HopperForwardGpuBits : public hopper::OnHopper<int> {};

void expect_bits(const Problem& problem, const OwnedInputs& inputs) {
  const ForwardOutputs gpu = run_on_gpu(problem, inputs);
  ForwardOutputs emulated{std::vector<Half>(problem.q_elements()),
                          std::vector<float>(problem.lse_elements())};
  const AttentionKernel& kernel = *find_attention_kernel(kForwardKernel);
  EmulationOptions options = options_of(kernel);
  options.detect = options.count = false;
  emulate_forward(kernel, problem,
                  contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                                     emulated.o.data(), emulated.lse.data()),
                  options, {});
  EXPECT_EQ(count_different(gpu.o, emulated.o), 0u) << "of " << gpu.o.size() << " elements of O";
  EXPECT_EQ(gpu.lse, emulated.lse);
  std::cout << gpu.o.size() << " elements of O compared, " << name_of(problem.mask) << "\n";
}

TEST_P(HopperForwardGpuBits, EqualTheEmulatedMachines) {
  for (const MaskSpec& mask :
       {MaskSpec::full(), MaskSpec::causal(), MaskSpec::window(100), MaskSpec::band(130, 20)}) {
    const Problem problem{.batch = 2,
                          .heads = 8,
                          .seqlen_q = 700,
                          .seqlen_k = 700,
                          .head_dim = GetParam(),
                          .mask = mask,
                          .dropout_p = mask == MaskSpec::full() ? 0.0f : 0.1f,
                          .seed = 3,
                          .heads_k = mask == MaskSpec::causal() ? 8 : 2};
    expect_bits(problem, make_inputs(problem, Distribution::kNormal, 5));
  }
}

/// Without dropout, and with it.
TEST_P(HopperForwardGpuBits, EqualTheEmulatedMachinesWhereScoresRise) {
  for (const float dropout_p : {0.0f, 0.1f}) {
    const Problem problem{.heads = 2,
                          .seqlen_q = 500,
                          .seqlen_k = 500,
                          .head_dim = GetParam(),
                          .mask = MaskSpec::causal(),
                          .dropout_p = dropout_p,
                          .seed = 3};
    expect_bits(problem, hopper::rising_inputs(problem, 5));
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDims, HopperForwardGpuBits, testing::Values(24, 64, 80, 96, 128, 256));

class HopperForwardGpuStrides : public hopper::OnHopper<int> {};

/// A tensor that is one for all entries of a batch, as a view that repeats it: a stride of 0.
TEST_P(HopperForwardGpuStrides, MayRepeatATensor) {
  const Problem problem{
      .batch = 3, .heads = 2, .seqlen_q = 90, .seqlen_k = 200, .head_dim = GetParam()};
  OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 5);
  const auto repeat = [&](std::vector<Half>& tensor) {
    const std::size_t entry = tensor.size() / 3;
    std::copy_n(tensor.begin(), entry, tensor.begin() + static_cast<std::ptrdiff_t>(entry));
    std::copy_n(tensor.begin(), entry, tensor.begin() + static_cast<std::ptrdiff_t>(2 * entry));
  };
  repeat(inputs.k);
  repeat(inputs.v);
  const ForwardOutputs want = run_on_gpu(problem, inputs);
  const ForwardOutputs got = run_on_gpu(problem, inputs, [](ForwardTensors& tensors) {
    tensors.k.batch_stride = tensors.v.batch_stride = 0;
  });
  EXPECT_EQ(count_different(got.o, want.o), 0u);
  EXPECT_EQ(got.lse, want.lse);
}

INSTANTIATE_TEST_SUITE_P(HeadDims, HopperForwardGpuStrides, testing::Values(8, 64, 128));

class HopperSparseGpu : public hopper::OnHopper<std::tuple<int, float>> {
 protected:
  Problem problem(int seqlen) const {
    return {.heads = 4,
            .seqlen_q = seqlen,
            .seqlen_k = seqlen,
            .head_dim = std::get<0>(GetParam()),
            .dropout_p = std::get<1>(GetParam()),
            .seed = 3,
            .heads_k = 2};
  }
};

TEST_P(HopperSparseGpu, HasTheEmulatedMachinesBits) {
  std::size_t compared = 0;
  for (const std::string_view spec :
       {"window:128/full", "sink:4+window:128", "blocked:128", "strided:6", "longformer:64:16",
        "fixed:64:16", "causal-documents:100", "dilated:16:4", "nd:25x20:5x5", "nd:5x10x10:3x4x6",
        "causal-strided:3", "window:40+causal-strided:8", "band:3:5+strided:4",
        "window:40+causal-strided:3", "causal-dilated:90:4"}) {
    SCOPED_TRACE(spec);
    compared += expect_emulated_bits(kForwardKernel, with_pattern(problem(500), spec));
  }
  compared += expect_emulated_bits(kForwardKernel,
                                   with_pattern(problem(2430), "longformer:16:4/window:40+sink:3"));
  Random random(5);
  for (int i = 0; i < 20; ++i) {
    const RandomPattern drawn = random_pattern(random, 600);
    SCOPED_TRACE(drawn.name);
    compared += expect_emulated_bits(kForwardKernel, with_pattern(problem(1), drawn));
  }
  std::cout << compared << " elements compared\n";
}

INSTANTIATE_TEST_SUITE_P(Instances, HopperSparseGpu,
                         testing::Combine(testing::Values(64, 80, 128, 200),
                                          testing::Values(0.0f, 0.1f)));

}  // namespace
}  // namespace sparkbench
