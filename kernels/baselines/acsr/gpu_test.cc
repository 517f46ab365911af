// Both passes of the chain on the GPU at hand: bit for bit against the emulated machine with its
// arithmetic.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/launch/run_gpu.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_gpu.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

struct Case {
  Problem problem;
  OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  std::vector<Half> d_o = make_gradient_input(problem, Distribution::kNormal, 3);
};

struct Outputs {
  explicit Outputs(const Problem& problem)
      : o(problem.q_elements()),
        dq(problem.q_elements()),
        dk(problem.k_elements()),
        dv(problem.k_elements()),
        lse(problem.lse_elements()) {}

  std::vector<Half> o, dq, dk, dv;
  std::vector<float> lse;
};

Outputs run_emulated(const AttentionKernel& chain, const Case& of) {
  Outputs out(of.problem);
  const OwnedInputs& inputs = of.inputs;
  const EmulationOptions options{.profile = &native_profile(chain.instruction)};
  emulate_forward(chain, of.problem,
                  contiguous_tensors(of.problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                                     out.o.data(), out.lse.data()),
                  options, {});
  emulate_backward(chain, of.problem,
                   contiguous_tensors(of.problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                                      out.o.data(), of.d_o.data(), out.lse.data(), out.dq.data(),
                                      out.dk.data(), out.dv.data()),
                   options, true, {});
  return out;
}

Outputs run_on_gpu(const AttentionKernel& chain, const Case& of) {
  const Problem& problem = of.problem;
  const auto tables = chain.tables(problem, Pass::kForwardBackward);
  const DeviceBuffer q = upload(of.inputs.q), k = upload(of.inputs.k), v = upload(of.inputs.v),
                     d_o = upload(of.d_o), table_memory = upload(tables->bytes());
  const std::uint64_t workspace_bytes =
      sparkbench::workspace_bytes(chain, problem, Pass::kForwardBackward, true, tables.get());
  const DeviceBuffer workspace = poisoned(workspace_bytes);
  const std::size_t of_q = problem.q_elements(), of_k = problem.k_elements();
  const DeviceBuffer o = poisoned(of_q * sizeof(Half)), dq = poisoned(of_q * sizeof(Half)),
                     dk = poisoned(of_k * sizeof(Half)), dv = poisoned(of_k * sizeof(Half)),
                     lse = poisoned(problem.lse_elements() * sizeof(float));
  const auto run = [&](PlanRequest request) {
    request.tables = tables.get();
    request.table_memory = table_memory.as<void>();
    run_on_stream(plan_on_gpu(chain, request, workspace.as<void>()), nullptr);
  };
  const ForwardTensors forward = contiguous_tensors(problem, q.as<Half>(), k.as<Half>(),
                                                    v.as<Half>(), o.as<Half>(), lse.as<float>());
  const BackwardTensors backward = contiguous_tensors(
      problem, q.as<Half>(), k.as<Half>(), v.as<Half>(), o.as<Half>(), d_o.as<Half>(),
      lse.as<float>(), dq.as<Half>(), dk.as<Half>(), dv.as<Half>());
  run(forward_request(problem, forward));
  for (int i = 0; i < 2; ++i) {  // the second over what the first leaves
    run(backward_request(problem, backward, true));
  }
  CUDA_CHECK(cudaDeviceSynchronize());
  download<std::byte>(workspace, workspace_bytes);  // its guard zone
  Outputs out(problem);
  out.o = download<Half>(o, of_q);
  out.dq = download<Half>(dq, of_q);
  out.dk = download<Half>(dk, of_k);
  out.dv = download<Half>(dv, of_k);
  out.lse = download<float>(lse, problem.lse_elements());
  return out;
}

/// Compares bits. Returns how many elements were compared.
std::size_t expect_emulated_bits(const AttentionKernel& chain, const Problem& problem) {
  const Case of{problem};
  const Outputs want = run_emulated(chain, of), got = run_on_gpu(chain, of);
  EXPECT_EQ(count_different(got.o, want.o), 0u);
  EXPECT_EQ(count_different(got.dq, want.dq), 0u);
  EXPECT_EQ(count_different(got.dk, want.dk), 0u);
  EXPECT_EQ(count_different(got.dv, want.dv), 0u);
  EXPECT_EQ(got.lse, want.lse);
  return 2 * want.o.size() + 2 * want.dk.size() + want.lse.size();
}

class AcsrGpu : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_P(AcsrGpu, HasTheEmulatedMachinesBits) {
  const AttentionKernel& chain = *find_attention_kernel("acsr-unfused");
  std::size_t compared = 0;
  for (const std::string_view spec :
       {"full", "causal", "window:128", "band:64:64", "blocked:128", "chunk:100", "strided:2",
        "strided:128", "causal-strided:16", "dilated:16:4", "causal-documents:100", "prefix:70",
        "window:128/strided:3"}) {
    for (const auto& [seqlen_q, seqlen_k] : {std::pair(1, 1), {500, 500}, {131, 2300}}) {
      SCOPED_TRACE(testing::Message() << spec << ", " << seqlen_q << " x " << seqlen_k);
      const bool has_turns = spec.find('/') != std::string_view::npos;
      Problem problem{.batch = seqlen_q == seqlen_k ? 2 : 1,
                      .heads = 4,
                      .seqlen_q = seqlen_q,
                      .seqlen_k = seqlen_k,
                      .head_dim = GetParam(),
                      .heads_k = has_turns ? 4 : 2};
      problem.sparse = make_sparse_mask(spec, seqlen_q, seqlen_k);
      compared += expect_emulated_bits(chain, problem);
    }
  }
  std::cout << compared << " elements compared\n";
}

INSTANTIATE_TEST_SUITE_P(HeadDims, AcsrGpu, testing::Values(40, 64, 80, 128));

}  // namespace
}  // namespace sparkbench
