#include "harness/model/predict/eager_attention.h"

#include <gtest/gtest.h>

namespace sparkbench {
namespace {

constexpr double kHiddenBytes = 2.0 * (2 * 128) * 1024;
constexpr double kHeadBytes = 2.0 * 128 * 128;
constexpr double kScoreBytes = 2 * 16 * kHeadBytes;

Problem two_sequences(float dropout_p = 0.1f, const MaskSpec& mask = MaskSpec::full()) {
  return {.batch = 2,
          .heads = 16,
          .seqlen_q = 128,
          .seqlen_k = 128,
          .head_dim = 64,
          .mask = mask,
          .dropout_p = dropout_p};
}

double bytes_of(const Problem& problem, Pass pass, LaunchKind kind) {
  double bytes = 0;
  for (const UnfusedStep& step : eager_attention(problem, pass)) {
    if (step.kind == kind) bytes += step.bytes;
  }
  return bytes;
}

TEST(EagerAttention, GoesOverTheScoresMoreOften) {
  const auto copied = [](Pass pass, float dropout_p) {
    return bytes_of(two_sequences(dropout_p), pass, LaunchKind::kCopy);
  };
  EXPECT_DOUBLE_EQ(copied(Pass::kForward, 0.1f), 4.5 * kScoreBytes + 8 * kHiddenBytes);
  EXPECT_DOUBLE_EQ(copied(Pass::kForward, 0), 2 * kScoreBytes + 8 * kHiddenBytes);
  EXPECT_DOUBLE_EQ(copied(Pass::kForwardBackward, 0.1f),
                   2 * (4.5 * kScoreBytes + 8 * kHiddenBytes));
}

TEST(EagerAttention, AddsAMaskInTheForwardPassAlone) {
  const Problem full = two_sequences(0), causal = two_sequences(0, MaskSpec::causal());
  const auto more = [&](Pass pass, LaunchKind kind) {
    return bytes_of(causal, pass, kind) - bytes_of(full, pass, kind);
  };
  EXPECT_DOUBLE_EQ(more(Pass::kForward, LaunchKind::kCopy), 2 * kScoreBytes + kHeadBytes);
  EXPECT_DOUBLE_EQ(more(Pass::kBackward, LaunchKind::kCopy), 0);
  EXPECT_DOUBLE_EQ(more(Pass::kForwardBackward, LaunchKind::kSoftmax), 0);
}

}  // namespace
}  // namespace sparkbench
