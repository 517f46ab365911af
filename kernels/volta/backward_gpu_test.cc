// The Volta backward kernels on the GPU: against the definition, and bit for bit against the
// emulated machine with the arithmetic that m8n8k4 has on that GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

#include "kernels/launch/run_gpu.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_gpu.h"
#include "kernels/testing/test_problems.h"
#include "kernels/volta/backward/relay_plan.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"
#include "reference/unfused/unfused_backward.h"

namespace sparkbench {
namespace {

const AttentionKernel& kernel_of(Accumulator accumulator) {
  return *find_attention_kernel(accumulator == Accumulator::kFp16 ? "volta-fp16acc"
                                                                  : "volta-fp32acc");
}

/// A problem on the host and, from the kernel's own forward pass on the GPU, its O and LSE.
struct Case {
  Problem problem;
  OwnedInputs inputs;
  std::vector<Half> d_o, o;
  std::vector<float> lse;

  BackwardInputs view() const { return {inputs.q, inputs.k, inputs.v, d_o, o, lse}; }
};

Case make_case(Accumulator accumulator, const Problem& problem) {
  Case made{problem,
            make_inputs(problem, Distribution::kNormal, 7),
            make_gradient_input(problem, Distribution::kNormal, 7),
            {},
            {}};
  const DeviceBuffer q = upload(made.inputs.q), k = upload(made.inputs.k),
                     v = upload(made.inputs.v);
  const DeviceBuffer o = poisoned(problem.q_elements() * sizeof(Half));
  const DeviceBuffer lse = poisoned(problem.lse_elements() * sizeof(float));
  const ForwardTensors tensors = contiguous_tensors(problem, q.as<Half>(), k.as<Half>(),
                                                    v.as<Half>(), o.as<Half>(), lse.as<float>());
  run_on_stream(plan_on_gpu(kernel_of(accumulator), forward_request(problem, tensors), nullptr),
                nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  made.o = download<Half>(o, problem.q_elements());
  made.lse = download<float>(lse, problem.lse_elements());
  return made;
}

struct Outputs {
  std::vector<Half> dq, dk, dv;
  GradientTensors view() const { return {dq, dk, dv}; }
};

Outputs run_on_gpu(Accumulator accumulator, const Case& made, bool is_deterministic) {
  const Problem& problem = made.problem;
  const DeviceBuffer q = upload(made.inputs.q), k = upload(made.inputs.k),
                     v = upload(made.inputs.v), o = upload(made.o), d_o = upload(made.d_o),
                     lse = upload(made.lse);
  const DeviceBuffer dq = poisoned(problem.q_elements() * sizeof(Half));
  const DeviceBuffer dk = poisoned(problem.k_elements() * sizeof(Half));
  const DeviceBuffer dv = poisoned(problem.k_elements() * sizeof(Half));
  const DeviceBuffer workspace(
      workspace_bytes(kernel_of(accumulator), problem, Pass::kBackward, is_deterministic));
  const BackwardTensors tensors = contiguous_tensors(
      problem, q.as<Half>(), k.as<Half>(), v.as<Half>(), o.as<Half>(), d_o.as<Half>(),
      lse.as<float>(), dq.as<Half>(), dk.as<Half>(), dv.as<Half>());
  run_on_stream(
      plan_on_gpu(kernel_of(accumulator), backward_request(problem, tensors, is_deterministic),
                  workspace.as<void>()),
      nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  return {download<Half>(dq, problem.q_elements()), download<Half>(dk, problem.k_elements()),
          download<Half>(dv, problem.k_elements())};
}

class VoltaBackwardGpu : public testing::TestWithParam<std::tuple<Accumulator, int, int>> {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
  }
};

void expect_correct(Accumulator accumulator, const Problem& problem) {
  const Case made = make_case(accumulator, problem);
  const GradientRows rows = all_gradient_rows(problem);
  const ExactGradients want = exact_backward(problem, made.view(), rows);
  const HalfGradients unfused =
      unfused_backward(problem, made.view(), rows, {native_profile(), accumulator});
  const GradientErrors unfused_error = gradient_errors(unfused, want);
  for (const bool is_deterministic : {false, true}) {
    const Outputs got = run_on_gpu(accumulator, made, is_deterministic);
    const GradientErrors error = gradient_errors(gather_gradients(problem, got.view(), rows), want);
    EXPECT_EQ(why_incorrect(error, unfused_error, {}), "") << "deterministic " << is_deterministic;
  }
}

TEST_P(VoltaBackwardGpu, MatchesTheDefinitionForEveryLengthAndMask) {
  const auto [accumulator, head_dim, seqlen_q] = GetParam();
  for (const int seqlen_k : some_lengths(seqlen_q)) {
    for_every_mask_and_some_dropout(head_dim, {seqlen_q, seqlen_k},
                                    [accumulator = accumulator](const Problem& problem) {
                                      expect_correct(accumulator, problem);
                                    });
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, VoltaBackwardGpu,
                         testing::Combine(testing::Values(Accumulator::kFp16, Accumulator::kFp32),
                                          testing::Values(64, 128),
                                          testing::Values(1, 63, 64, 65, 127, 500, 1024)));
INSTANTIATE_TEST_SUITE_P(OtherTiles, VoltaBackwardGpu,
                         testing::Combine(testing::Values(Accumulator::kFp16, Accumulator::kFp32),
                                          testing::Values(32, 72, 80, 96, 136, 256),
                                          testing::Values(1, 127, 500)));

class VoltaBackwardGpuBits : public VoltaBackwardGpu {
 protected:
  Problem problem(const MaskSpec& mask = MaskSpec::causal()) const {
    const auto [accumulator, head_dim, seqlen] = GetParam();
    return {.heads = 20,
            .seqlen_q = seqlen,
            .seqlen_k = seqlen,
            .head_dim = head_dim,
            .mask = mask,
            .dropout_p = 0.1f,
            .seed = 3,
            .heads_k = mask == MaskSpec::causal() ? 20 : 5};
  }
};

TEST_P(VoltaBackwardGpuBits, AreTheSameInThreeDeterministicRuns) {
  const Accumulator accumulator = std::get<0>(GetParam());
  const Case made = make_case(accumulator, problem());
  const Outputs first = run_on_gpu(accumulator, made, true);
  for (int run = 0; run < 2; ++run) {
    const Outputs again = run_on_gpu(accumulator, made, true);
    EXPECT_EQ(count_different(first.dq, again.dq), 0u);
    EXPECT_EQ(count_different(first.dk, again.dk), 0u);
    EXPECT_EQ(count_different(first.dv, again.dv), 0u);
  }
}

void expect_emulated_bits(Accumulator accumulator, const Problem& problem,
                          bool is_deterministic = true) {
  const Case made = make_case(accumulator, problem);
  const Outputs gpu = run_on_gpu(accumulator, made, is_deterministic);
  Outputs emulated{std::vector<Half>(gpu.dq.size()), std::vector<Half>(gpu.dk.size()),
                   std::vector<Half>(gpu.dv.size())};
  emulate_backward(
      kernel_of(accumulator), made.problem,
      contiguous_tensors(made.problem, made.inputs.q.data(), made.inputs.k.data(),
                         made.inputs.v.data(), made.o.data(), made.d_o.data(), made.lse.data(),
                         emulated.dq.data(), emulated.dk.data(), emulated.dv.data()),
      {.profile = &native_profile()}, is_deterministic, {});
  const std::size_t different = count_different(gpu.dq, emulated.dq) +
                                count_different(gpu.dk, emulated.dk) +
                                count_different(gpu.dv, emulated.dv);
  const std::size_t total = gpu.dq.size() + gpu.dk.size() + gpu.dv.size();
  EXPECT_EQ(different, 0u) << "of " << total << " elements of dQ, dK and dV";
  std::cout << total << " elements of gradients compared, " << name_of(problem.mask) << "\n";
}

/// Every instruction that the kernels execute is modelled bit for bit. Over the instances these are
/// more than ten million elements.
TEST_P(VoltaBackwardGpuBits, EqualTheEmulatedMachines) {
  for (const MaskSpec& mask :
       {MaskSpec::causal(), MaskSpec::window(100), MaskSpec::band(130, 20)}) {
    expect_emulated_bits(std::get<0>(GetParam()), problem(mask));
  }
}

/// With the dQ semaphore (backward/relay_plan.h), and more steps than slots.
class VoltaBackwardRelayGpu : public VoltaBackwardGpu {
 protected:
  static void expect_emulated_bits_in_relay(int batch, int seqlen, const MaskSpec& mask,
                                            float dropout_p) {
    const auto [accumulator, head_dim, heads] = GetParam();
    SCOPED_TRACE(testing::Message() << seqlen << " tokens, " << name_of(mask));
    const Problem problem{.batch = batch,
                          .heads = heads,
                          .seqlen_q = seqlen,
                          .seqlen_k = seqlen,
                          .head_dim = head_dim,
                          .mask = mask,
                          .dropout_p = dropout_p,
                          .seed = 3,
                          .heads_k = 24};
    ASSERT_TRUE(volta::has_relay(problem, false));
    ASSERT_LT(volta::relay_slot_bits(problem), volta::all_step_bits(problem));
    expect_emulated_bits(accumulator, problem, false);
    const Case made = make_case(accumulator, problem);
    const Outputs first = run_on_gpu(accumulator, made, false);
    for (int run = 0; run < 3; ++run) {
      const Outputs again = run_on_gpu(accumulator, made, false);
      EXPECT_EQ(count_different(first.dq, again.dq), 0u);
    }
  }
};

TEST_P(VoltaBackwardRelayGpu, EqualsTheEmulatedMachinesInWindows) {
  for (const MaskSpec& mask : {MaskSpec::window(30), MaskSpec::band(100, 20)}) {
    for (const float dropout_p : {0.0f, 0.1f}) {
      expect_emulated_bits_in_relay(1, 2048, mask, dropout_p);
    }
  }
}

TEST_P(VoltaBackwardRelayGpu, EqualsTheEmulatedMachinesInShortSequences) {
  expect_emulated_bits_in_relay(12, 128, MaskSpec::full(), 0.0f);
  expect_emulated_bits_in_relay(12, 103, MaskSpec::full(), 0.1f);
  expect_emulated_bits_in_relay(2, 500, MaskSpec::causal(), 0.0f);
  expect_emulated_bits_in_relay(4, 300, MaskSpec::full(), 0.0f);  // statistics of a launch before
}

/// At 128 columns two warps add to the same sums in any order: dQ is that of the dQ kernel, up to
/// its last bit.
TEST(VoltaBackwardRelayGpuOf128Columns, IsTheDeterministicPassesButForTheLastBit) {
  if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
  for (const int head_dim : {104, 128}) {
    for (const MaskSpec& mask :
         {MaskSpec::window(30), MaskSpec::window(1000), MaskSpec::band(100, 20)}) {
      SCOPED_TRACE(testing::Message() << name_of(mask) << ", " << head_dim);
      const Problem problem{.heads = 48,
                            .seqlen_q = 2048,
                            .seqlen_k = 2048,
                            .head_dim = head_dim,
                            .mask = mask,
                            .dropout_p = head_dim == 128 ? 0.1f : 0.0f,
                            .seed = 3,
                            .heads_k = 24};
      ASSERT_TRUE(volta::has_relay(problem, false));
      const Case made = make_case(Accumulator::kFp32, problem);
      const Outputs alone = run_on_gpu(Accumulator::kFp32, made, true);
      for (int run = 0; run < 3; ++run) {
        const Outputs got = run_on_gpu(Accumulator::kFp32, made, false);
        EXPECT_EQ(count_different(got.dk, alone.dk), 0u);
        EXPECT_EQ(count_different(got.dv, alone.dv), 0u);
        std::size_t apart = 0;
        for (std::size_t i = 0; i < got.dq.size(); ++i) {
          const float a = to_float(got.dq[i]), b = to_float(alone.dq[i]);
          // An ulp of fp16, or what sums of 2048 products of this size may be apart.
          apart += std::abs(a - b) > std::max(std::abs(a), std::abs(b)) * 0x1p-9f + 0x1p-13f;
        }
        EXPECT_EQ(apart, 0u) << "of " << got.dq.size();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, VoltaBackwardRelayGpu,
                         testing::Combine(testing::Values(Accumulator::kFp16, Accumulator::kFp32),
                                          testing::Values(40, 64), testing::Values(24, 48)));

INSTANTIATE_TEST_SUITE_P(Grid, VoltaBackwardGpuBits,
                         testing::Combine(testing::Values(Accumulator::kFp16, Accumulator::kFp32),
                                          testing::Values(32, 64, 80, 96, 128, 256),
                                          testing::Values(500)));

}  // namespace
}  // namespace sparkbench
