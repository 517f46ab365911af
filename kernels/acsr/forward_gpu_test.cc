// The chain on the GPU at hand: bit for bit against the emulated machine with the arithmetic that
// m8n8k4 has there.
#include <gtest/gtest.h>

#include <cstddef>
#include <iostream>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/prepared_chain.h"
#include "kernels/registry.h"
#include "kernels/volta/test_gpu.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

const AttentionKernel& chain() { return *find_attention_kernel("acsr-unfused"); }

struct Outputs {
  std::vector<Half> o;
  std::vector<float> lse;
};

Outputs run_emulated(const Problem& problem, const OwnedInputs& inputs) {
  Outputs out{std::vector<Half>(problem.q_elements()), std::vector<float>(problem.lse_elements())};
  chain().forward.emulate(problem,
                          contiguous_tensors(problem, inputs.q.data(), inputs.k.data(),
                                             inputs.v.data(), out.o.data(), out.lse.data()),
                          {.profile = &native_profile()}, {});
  return out;
}

Outputs run_on_gpu(const Problem& problem, const OwnedInputs& inputs) {
  const std::shared_ptr<const PreparedChain> prepared = chain().chain.prepare(problem);
  const DeviceBuffer q = upload(inputs.q), k = upload(inputs.k), v = upload(inputs.v),
                     tables = upload(prepared->tables()), kept = poisoned(prepared->kept_bytes()),
                     o = poisoned(problem.q_elements() * sizeof(Half)),
                     lse = poisoned(problem.lse_elements() * sizeof(float));
  prepared->launch_forward(contiguous_tensors(problem, q.as<Half>(), k.as<Half>(), v.as<Half>(),
                                              o.as<Half>(), lse.as<float>()),
                           kept.as<void>(), tables.as<void>(), nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  download<std::byte>(kept, prepared->kept_bytes());  // its guard zone
  return {download<Half>(o, problem.q_elements()), download<float>(lse, problem.lse_elements())};
}

class AcsrForwardGpu : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!has_gpu()) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_P(AcsrForwardGpu, HasTheEmulatedMachinesBits) {
  std::size_t compared = 0;
  for (const std::string_view spec :
       {"full", "causal", "window:128", "band:64:64", "blocked:128", "chunk:100", "strided:2",
        "strided:128", "causal-strided:16", "dilated:16:4", "causal-documents:100", "prefix:70",
        "window:128/strided:3"}) {
    for (const auto& [seqlen_q, seqlen_k] : {std::pair(1, 1), {500, 500}, {131, 2300}}) {
      SCOPED_TRACE(testing::Message() << spec << ", " << seqlen_q << " x " << seqlen_k);
      Problem problem{.batch = 2,
                      .heads = 4,
                      .seqlen_q = seqlen_q,
                      .seqlen_k = seqlen_k,
                      .head_dim = GetParam(),
                      .heads_k = 2};
      problem.sparse = make_sparse_mask(spec, seqlen_q, seqlen_k);
      const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
      const Outputs want = run_emulated(problem, inputs), got = run_on_gpu(problem, inputs);
      std::size_t different = 0;
      for (std::size_t i = 0; i < want.o.size(); ++i) {
        different += want.o[i].bits != got.o[i].bits ? 1 : 0;
      }
      EXPECT_EQ(different, 0u);
      EXPECT_EQ(got.lse, want.lse);
      compared += want.o.size() + want.lse.size();
    }
  }
  std::cout << compared << " elements compared\n";
}

INSTANTIATE_TEST_SUITE_P(HeadDims, AcsrForwardGpu, testing::Values(40, 64, 80, 128));

}  // namespace
}  // namespace sparkbench
