// The offset of dropout: from memory, from the parameters, and as the definition has it, in every
// fused kernel, forward and backward.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_options.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

constexpr std::uint64_t kOffset = 0x0000000300000009u;

class DropoutOffsets : public testing::TestWithParam<int> {
 protected:
  Problem problem(int heads = 2) const {
    return {.batch = 1,
            .heads = heads,
            .seqlen_q = 70,
            .seqlen_k = 150,
            .head_dim = GetParam(),
            .dropout_p = 0.3f,
            .seed = 4};
  }
  /// O of the forward pass, or dQ, dK and dV of the deterministic backward pass.
  std::vector<std::uint16_t> bits(const AttentionKernel& kernel, const Problem& of,
                                  bool is_backward, const DropoutOffset* offset = nullptr) const {
    const OwnedInputs inputs = make_inputs(problem(), Distribution::kNormal, 3);
    std::vector<Half> o(of.q_elements()), dq = o, dk(of.k_elements()), dv = dk;
    std::vector<float> lse(of.lse_elements(), 1.0f);
    const EmulationOptions options = options_of(kernel);
    EmulationReport report;
    if (is_backward) {
      const std::vector<Half> d_o = make_gradient_input(of, Distribution::kNormal, 3);
      BackwardTensors tensors =
          contiguous_tensors(of, inputs.q.data(), inputs.k.data(), inputs.v.data(), o.data(),
                             d_o.data(), lse.data(), dq.data(), dk.data(), dv.data());
      tensors.dropout_offset = offset;
      report = emulate_backward(kernel, of, tensors, options, true, {});
    } else {
      ForwardTensors tensors = contiguous_tensors(of, inputs.q.data(), inputs.k.data(),
                                                  inputs.v.data(), o.data(), lse.data());
      tensors.dropout_offset = offset;
      report = emulate_forward(kernel, of, tensors, options, {});
    }
    EXPECT_TRUE(report.findings.empty());
    std::vector<std::uint16_t> all;
    for (const auto* tensor : {&o, &dq, &dk, &dv}) {
      for (const Half half : *tensor) all.push_back(half.bits);
    }
    return all;
  }
};

TEST_P(DropoutOffsets, InMemoryCountsInsteadOfTheProblems) {
  const DropoutOffset in_memory{9, 3};
  for (const AttentionKernel& kernel : attention_kernels()) {
    const int sm = kernel.instruction == MmaInstruction::kWgmma ? 90 : 70;
    const std::size_t shared_bytes = options_of(kernel).shared_bytes_per_block;
    if (!kernel.supports(problem(), {sm, shared_bytes, true}, false)) continue;
    for (const bool is_backward : {false, true}) {
      SCOPED_TRACE(std::string(kernel.name) + (is_backward ? " backward" : ""));
      Problem of = problem();
      const auto without = bits(kernel, of, is_backward);
      EXPECT_NE(bits(kernel, of, is_backward, &in_memory), without);
      of.dropout_offset = kOffset;
      const auto by_value = bits(kernel, of, is_backward);
      EXPECT_NE(by_value, without);
      of.dropout_offset = 1;
      EXPECT_EQ(bits(kernel, of, is_backward, &in_memory), by_value);
    }
  }
}

/// The upper half is of the same counter as the head.
TEST_P(DropoutOffsets, ExchangeHeadsByTheirUpperHalf) {
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  Problem of = problem(1);
  const auto first = bits(kernel, of, false);
  of.dropout_offset = std::uint64_t{1} << 32;
  const auto shifted = bits(kernel, of, false);
  EXPECT_NE(shifted, first);
  Dropout dropout = of.dropout();
  Problem plain = problem(1);
  for (std::uint32_t row = 0; row < 70; ++row) {
    for (std::uint32_t column = 0; column < 150; ++column) {
      ASSERT_EQ(dropout_keeps(dropout, 0, row, column),
                dropout_keeps(plain.dropout(), 1, row, column));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(HeadDims, DropoutOffsets, testing::Values(64, 128, 256));

}  // namespace
}  // namespace sparkbench
