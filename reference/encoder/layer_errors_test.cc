// Whole layers in fp16, on the emulated V100, against the same in fp64.
#include "reference/encoder/layer_errors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/registry.h"
#include "reference/encoder/half_attention.h"

namespace sparkbench {
namespace {

const TensorCores volta{arithmetic_profile("volta")};

Problem problem_of(int seqlen, int heads) {
  Problem problem;
  problem.heads = heads;
  problem.seqlen_q = problem.seqlen_k = seqlen;
  problem.mask = MaskSpec::causal();
  problem.dropout_p = 0.1f;
  return problem;
}

std::map<std::string, ErrorMetrics> by_name(const std::vector<PartError>& errors) {
  std::map<std::string, ErrorMetrics> named;
  for (const PartError& each : errors) named[each.of] = each.error;
  return named;
}

const std::vector<std::string> forward_parts = {
    "output", "before_residual", "qkv", "mha", "proj", "ln1", "ff1", "ff2", "ln2"};

TEST(LayerErrors, OfAnUnfusedLayerAreOfFp16) {
  for (const NormPlace norm : {NormPlace::kPost, NormPlace::kPre}) {
    const LayerShape shape{.hidden = 128, .ffn = 256, .norm = norm};
    const Problem problem = problem_of(40, 2);
    const LayerTensors tensors = make_layer_tensors(shape, 40, 1);
    const LayerCheck check(shape, problem, tensors, {0, 40}, true);
    const auto errors =
        by_name(check.errors(volta, Rest::kUnfused, unfused_attention(problem, volta)));
    EXPECT_EQ(errors.size(), forward_parts.size() + 13);
    for (const auto& [name, error] : errors) {
      // Half a unit of fp16 is 2^-11; no value sums more than a few of them.
      EXPECT_GT(error.rel_l2, 0x1p-14) << name;
      EXPECT_LT(error.rel_l2, 0x1p-8) << name;
    }
    // The residual hides the branch's error.
    EXPECT_LT(errors.at("output").rel_l2, errors.at("before_residual").rel_l2);
  }
}

TEST(LayerErrors, AreSmallerWhereTheRestIsFused) {
  const LayerShape shape{.hidden = 128, .ffn = 256};
  const Problem problem = problem_of(40, 2);
  const LayerTensors tensors = make_layer_tensors(shape, 40, 1);
  const LayerCheck check(shape, problem, tensors, {0, 40}, false);
  const auto attention = unfused_attention(problem, volta);
  const auto unfused = by_name(check.errors(volta, Rest::kUnfused, attention));
  const auto fused = by_name(check.errors(volta, Rest::kFused, attention));
  for (const char* part : {"output", "qkv", "ln1", "ff1", "ln2"}) {
    EXPECT_LT(fused.at(part).rel_l2, unfused.at(part).rel_l2) << part;
  }
  EXPECT_EQ(fused.at("mha").rel_l2, unfused.at("mha").rel_l2);
}

TEST(LayerErrors, OfSampledRowsAreThoseRows) {
  const LayerShape shape{.hidden = 128, .ffn = 128};
  const Problem problem = problem_of(192, 2);
  const LayerTensors tensors = make_layer_tensors(shape, 192, 1);
  const LayerCheck check(shape, problem, tensors, {128, 64}, false);
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  std::uint64_t findings = 0;
  const auto errors =
      by_name(check.errors(volta, Rest::kFused,
                           emulated_attention(problem, kernel, {.profile = &volta.profile},
                                              [&](const EmulationReport& report) {
                                                findings += report.findings_total;
                                              })));
  EXPECT_EQ(findings, 0u);
  EXPECT_EQ(errors.at("output").checked_elements, 64u * 128);
  EXPECT_EQ(errors.at("qkv").checked_elements, 64u * 3 * 128);
  for (const std::string& part : forward_parts) {
    EXPECT_LT(errors.at(part).rel_l2, 0x1p-9) << part;
  }
}

/// The largest rel_l2 of the gradients of a small layer with `volta-fp32acc`.
double worst_gradient(Activation activation) {
  const LayerShape shape{.hidden = 64, .ffn = 128, .activation = activation};
  const Problem problem = problem_of(64, 1);
  const LayerTensors tensors = make_layer_tensors(shape, 64, 1);
  const LayerCheck check(shape, problem, tensors, {0, 64}, true);
  const AttentionKernel& kernel = *find_attention_kernel("volta-fp32acc");
  const auto errors =
      by_name(check.errors(volta, Rest::kFused,
                           emulated_attention(problem, kernel, {.profile = &volta.profile},
                                              [](const EmulationReport&) {})));
  double worst = 0;
  for (const char* gradient : {"dx", "dWqkv", "dbqkv", "dWo", "dW1", "dW2", "dgamma1", "dbeta2"}) {
    EXPECT_EQ(errors.at(gradient).nonfinite, 0u) << gradient;
    worst = std::max(worst, errors.at(gradient).rel_l2);
  }
  return worst;
}

TEST(LayerErrors, OfAnEmulatedKernelHaveItsGradients) {
  EXPECT_LT(worst_gradient(Activation::kGeluErf), 0x1p-8);
  EXPECT_LT(worst_gradient(Activation::kGeluTanh), 0x1p-8);
  // An argument closer to 0 than its error gets the other of ReLU's two derivatives.
  EXPECT_LT(worst_gradient(Activation::kRelu), 0x1p-5);
}

}  // namespace
}  // namespace sparkbench
