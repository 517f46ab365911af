// The Hopper backward kernels on a GPU that has wgmma: against the definition, and bit for bit
// against the emulated machine.
#include <gtest/gtest.h>

#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/hopper/backward/test_gradients.h"
#include "kernels/hopper/test_gpu.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_problems.h"
#include "kernels/testing/test_sparse_gpu.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/unfused/unfused_backward.h"

namespace sparkbench {
namespace {

constexpr std::string_view kKernel = "hopper-fp32acc";

struct Gradients {
  std::vector<Half> dq, dk, dv;
};

Gradients run_on_gpu(const Case& made) {
  const Problem& problem = made.problem;
  const AttentionKernel& kernel = *find_attention_kernel(kKernel);
  const DeviceBuffer q = upload(made.inputs.q), k = upload(made.inputs.k),
                     v = upload(made.inputs.v), o = upload(made.forward.o), d_o = upload(made.d_o),
                     lse = upload(made.forward.lse);
  const std::size_t of_q = problem.q_elements(), of_k = problem.k_elements();
  const DeviceBuffer dq = poisoned(of_q * sizeof(Half)), dk = poisoned(of_k * sizeof(Half)),
                     dv = poisoned(of_k * sizeof(Half));
  const std::uint64_t bytes = workspace_bytes(kernel, problem, Pass::kBackward, false);
  const DeviceBuffer workspace = poisoned(bytes);
  const BackwardTensors tensors = contiguous_tensors(
      problem, q.as<Half>(), k.as<Half>(), v.as<Half>(), o.as<Half>(), d_o.as<Half>(),
      lse.as<float>(), dq.as<Half>(), dk.as<Half>(), dv.as<Half>());
  run_on_stream(
      plan_on_gpu(kernel, backward_request(problem, tensors, false), workspace.as<void>()),
      nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  download<std::byte>(workspace, bytes);  // looks at the guard zone
  return {download<Half>(dq, of_q), download<Half>(dk, of_k), download<Half>(dv, of_k)};
}

class HopperBackwardGpu : public hopper::OnHopper<std::tuple<int, int>> {};

TEST_P(HopperBackwardGpu, MatchesTheDefinitionForEveryLengthAndMask) {
  const auto [head_dim, seqlen_q] = GetParam();
  for (const int seqlen_k : {1, 64, 193, 500}) {
    for_every_mask_and_dropout(
        head_dim, {seqlen_q, seqlen_k}, {0.0f, 0.1f}, [](const Problem& problem) {
          const Case made = make_case(problem);
          const GradientRows rows = all_gradient_rows(problem);
          const ExactGradients want = exact_backward(problem, made.view(), rows);
          const HalfGradients unfused = unfused_backward(
              problem, made.view(), rows, {arithmetic_profile("hopper"), Accumulator::kFp32});
          const Gradients got = run_on_gpu(made);
          EXPECT_EQ(
              why_incorrect(
                  gradient_errors(gather_gradients(problem, {got.dq, got.dk, got.dv}, rows), want),
                  gradient_errors(unfused, want), {}),
              "");
        });
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, HopperBackwardGpu,
                         testing::Combine(testing::Values(32, 64, 80, 96, 128, 256),
                                          testing::Values(1, 129, 500)));
INSTANTIATE_TEST_SUITE_P(Padded, HopperBackwardGpu,
                         testing::Combine(testing::Values(8, 40, 72, 88, 104, 136),
                                          testing::Values(193)));

class HopperBackwardGpuBits : public HopperBackwardGpu {};

TEST_P(HopperBackwardGpuBits, EqualTheEmulatedMachines) {
  const auto [head_dim, seqlen] = GetParam();
  for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::causal(), MaskSpec::window(100)}) {
    const Case made = make_case({.batch = 2,
                                 .heads = 4,
                                 .seqlen_q = seqlen,
                                 .seqlen_k = seqlen,
                                 .head_dim = head_dim,
                                 .mask = mask,
                                 .dropout_p = mask == MaskSpec::full() ? 0.0f : 0.1f,
                                 .seed = 3,
                                 .heads_k = mask == MaskSpec::causal() ? 4 : 2});
    const Problem& problem = made.problem;
    const Gradients gpu = run_on_gpu(made);
    Gradients emulated{std::vector<Half>(problem.q_elements()),
                       std::vector<Half>(problem.k_elements()),
                       std::vector<Half>(problem.k_elements())};
    const AttentionKernel& kernel = *find_attention_kernel(kKernel);
    EmulationOptions options = options_of(kernel);
    options.detect = options.count = false;
    emulate_backward(kernel, problem,
                     contiguous_tensors(problem, made.inputs.q.data(), made.inputs.k.data(),
                                        made.inputs.v.data(), made.forward.o.data(),
                                        made.d_o.data(), made.forward.lse.data(),
                                        emulated.dq.data(), emulated.dk.data(), emulated.dv.data()),
                     options, false, {});
    EXPECT_EQ(count_different(gpu.dq, emulated.dq), 0u) << "of " << gpu.dq.size();
    EXPECT_EQ(count_different(gpu.dk, emulated.dk), 0u) << "of " << gpu.dk.size();
    EXPECT_EQ(count_different(gpu.dv, emulated.dv), 0u) << "of " << gpu.dv.size();
    std::cout << gpu.dq.size() + 2 * gpu.dk.size() << " elements of gradients compared, "
              << name_of(problem.mask) << "\n";
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDims, HopperBackwardGpuBits,
                         testing::Combine(testing::Values(24, 64, 80, 96, 128, 256),
                                          testing::Values(450)));

}  // namespace
}  // namespace sparkbench
