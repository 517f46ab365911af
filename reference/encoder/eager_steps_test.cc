#include "reference/encoder/eager_steps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "reference/encoder/layer_memory.h"

namespace sparkbench {
namespace {

constexpr std::uint64_t kEagerTokens = 2 * 128, kEagerHidden = 1024, kEagerFfn = 4096;
constexpr std::uint64_t kHiddenBytes = 2 * kEagerTokens * kEagerHidden;

LayerShape bert_large() {
  return {.hidden = kEagerHidden,
          .ffn = kEagerFfn,
          .activation = Activation::kGeluErf,
          .rest = Rest::kEager};
}

Problem two_sequences(float dropout_p = 0.1f) {
  return {.batch = 2,
          .heads = 16,
          .seqlen_q = 128,
          .seqlen_k = 128,
          .head_dim = 64,
          .dropout_p = dropout_p};
}

std::vector<LayerStep> steps_of(Pass pass) {
  return layer_steps(bert_large(), two_sequences(), pass);
}

std::uint64_t product_flops(const std::vector<LayerStep>& steps) {
  std::uint64_t flops = 0;
  for (const LayerStep& step : steps) flops += step.kind == StepKind::kProduct ? step.flops : 0;
  return flops;
}

auto count_named(const std::vector<LayerStep>& steps, std::string_view name) {
  return std::ranges::count(steps, name, &LayerStep::name);
}

TEST(EagerSteps, HaveThreeProjectionsAndNoBiasLaunches) {
  const auto steps = steps_of(Pass::kForward);
  EXPECT_EQ(count_named(steps, "bias"), 0);
  EXPECT_EQ(count_named(steps, "Q, K, V = x Wqkv"), 3);
  EXPECT_EQ(steps[0].bytes(), 2 * (kEagerTokens * kEagerHidden + kEagerHidden * kEagerHidden +
                                   kEagerTokens * kEagerHidden));
  EXPECT_EQ(steps[0].writes.front().name, "q");
  EXPECT_EQ(steps[2].writes.front().name, "v");
  EXPECT_EQ(product_flops(steps),
            2 * kEagerTokens * kEagerHidden * (4 * kEagerHidden + 2 * kEagerFfn));
  const auto backward = steps_of(Pass::kBackward);
  EXPECT_EQ(count_named(backward, "dWqkv = x^T dQKV"), 3);
}

TEST(EagerSteps, HaveTheAttentionsTensorsOneByOne) {
  const auto steps = steps_of(Pass::kForwardBackward);
  for (const LayerStep& step : steps) {
    if (step.kind != StepKind::kAttention) continue;
    const auto& tensors = step.is_backward ? step.writes : step.reads;
    EXPECT_GE(tensors.size(), 3u);
    for (const LayerTensor& each : tensors) EXPECT_EQ(each.bytes, kHiddenBytes) << each.name;
  }
}

TEST(EagerSteps, DropoutMovesAMaskOfBytes) {
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    for (const LayerStep& step : steps_of(pass)) {
      if (step.name == "dropout") {
        EXPECT_EQ(2 * step.bytes(), 5 * kHiddenBytes);
      }
    }
    EXPECT_EQ(count_named(steps_of(pass), "dropout"), 2);
  }
}

TEST(EagerSteps, AddTheGradientsOfTheInput) {
  const auto steps = steps_of(Pass::kBackward);
  EXPECT_EQ(count_named(steps, "gradients of x added"), 2);
  const auto without = without_input_gradient(steps);
  EXPECT_EQ(product_flops(steps) - product_flops(without),
            3 * 2 * kEagerTokens * kEagerHidden * kEagerHidden);
  EXPECT_EQ(count_named(without, "gradients of x added"), 0);
  EXPECT_EQ(count_named(without, "residual"), count_named(steps, "residual") - 1);
}

TEST(EagerSteps, AddTheGradientOfEachWeight) {
  std::uint64_t bytes = 0;
  for (const LayerStep& step : steps_of(Pass::kBackward)) {
    if (step.name == "gradient added") bytes += step.bytes();
  }
  EXPECT_EQ(bytes, 3 * weight_bytes(bert_large()));
}

TEST(EagerSteps, KeepMasksToTheBackwardPass) {
  const auto lives = tensor_lives(steps_of(Pass::kForwardBackward));
  for (const char* const name : {"mask of ln1", "mask of ln2"}) {
    EXPECT_EQ(lives.at(name).bytes, kHiddenBytes / 2);
    EXPECT_GT(lives.at(name).last, lives.at("y").first) << name;
  }
}

TEST(EagerSteps, HoldTwoAndAHalfTimesTheScores) {
  constexpr std::uint64_t kScores = 2 * 2 * 16 * 128 * 128;
  const AttentionMemory kept = eager_attention_memory(two_sequences(), Pass::kForwardBackward);
  EXPECT_EQ(2 * kept.kept, 5 * kScores + 6 * kHiddenBytes);
  EXPECT_EQ(eager_attention_memory(two_sequences(0), Pass::kForwardBackward).kept,
            kScores + 3 * kHiddenBytes);
  const AttentionMemory forward = eager_attention_memory(two_sequences(), Pass::kForward);
  EXPECT_EQ(forward.kept, 0u);
  EXPECT_EQ(2 * forward.forward, 7 * kScores + 8 * kHiddenBytes);
}

}  // namespace
}  // namespace sparkbench
