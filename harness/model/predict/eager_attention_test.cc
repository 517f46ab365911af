#include "harness/model/predict/eager_layer.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sparkbench {
namespace {

constexpr int kTokens = 2 * 128, kHidden = 1024;
constexpr double kHiddenBytes = 2.0 * kTokens * kHidden;

LayerShape bert_large() {
  return {.hidden = kHidden, .ffn = 4096, .activation = Activation::kGeluErf};
}

Problem two_sequences(float dropout_p = 0.1f) {
  return {.batch = 2,
          .heads = 16,
          .seqlen_q = 128,
          .seqlen_k = 128,
          .head_dim = 64,
          .dropout_p = dropout_p};
}

std::vector<LayerStep> rest(Pass pass, InputGradient gradient = InputGradient::kWanted) {
  return eager_rest(bert_large(), two_sequences(), pass, gradient);
}

double flops_of(const std::vector<LayerStep>& steps) {
  double flops = 0;
  for (const LayerStep& step : steps) flops += static_cast<double>(step.flops);
  return flops;
}

auto count_named(const std::vector<LayerStep>& steps, std::string_view name) {
  return std::ranges::count(steps, name, &LayerStep::name);
}

TEST(EagerLayer, HasThreeProjectionsAndNoBiasLaunches) {
  const auto steps = rest(Pass::kForward);
  EXPECT_EQ(count_named(steps, "bias"), 0);
  EXPECT_EQ(count_named(steps, "Q, K, V = x Wqkv"), 3);
  EXPECT_EQ(steps[0].bytes(), 2u * (kTokens * kHidden + kHidden * kHidden + kTokens * kHidden));
  EXPECT_DOUBLE_EQ(flops_of(steps), 2.0 * kTokens * kHidden * (4.0 * kHidden + 2 * 4096));
}

TEST(EagerLayer, DropoutMovesAMaskOfBytes) {
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    for (const LayerStep& step : rest(pass)) {
      if (step.name == "dropout") {
        EXPECT_EQ(static_cast<double>(step.bytes()), 2.5 * kHiddenBytes);
      }
    }
    EXPECT_EQ(count_named(rest(pass), "dropout"), 2);
  }
}

TEST(EagerLayer, LeavesOutTheGradientOfItsInput) {
  const double wanted = flops_of(rest(Pass::kBackward));
  const double none = flops_of(rest(Pass::kBackward, InputGradient::kNone));
  EXPECT_DOUBLE_EQ(wanted - none, 3 * 2.0 * kTokens * kHidden * kHidden);
}

TEST(EagerLayer, AddsTheGradientOfEachWeight) {
  double bytes = 0;
  const auto steps = rest(Pass::kBackward);
  for (const LayerStep& step : steps) {
    if (step.name == "gradient added") bytes += static_cast<double>(step.bytes());
  }
  EXPECT_DOUBLE_EQ(bytes, 3.0 * static_cast<double>(weight_bytes(bert_large())));
}

TEST(EagerLayer, AttentionGoesOverTheScoresMoreOften) {
  const double scores = 2.0 * 2 * 16 * 128 * 128;
  const auto bytes_beside = [&](Pass pass, float dropout_p) {
    double bytes = 0;
    for (const UnfusedStep& step : eager_attention(two_sequences(dropout_p), pass)) {
      if (step.kind == LaunchKind::kCopy) bytes += step.bytes;
    }
    return bytes;
  };
  EXPECT_DOUBLE_EQ(bytes_beside(Pass::kForward, 0.1f), 4.5 * scores + 8 * kHiddenBytes);
  EXPECT_DOUBLE_EQ(bytes_beside(Pass::kForward, 0), 2 * scores + 8 * kHiddenBytes);
  EXPECT_DOUBLE_EQ(bytes_beside(Pass::kForwardBackward, 0.1f),
                   2 * (4.5 * scores + 8 * kHiddenBytes));
}

}  // namespace
}  // namespace sparkbench
