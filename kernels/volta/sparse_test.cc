// Patterns in the Volta kernels on the emulated V100: by masks that kernels without lists know, and
// by the definition of a pattern in FP64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/registry.h"
#include "kernels/volta/test_problems.h"
#include "kernels/volta/test_sparse.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

void expect_clean(const EmulationReport& report) {
  EXPECT_EQ(report.findings_total, 0u)
      << (report.findings.empty() ? "" : report.findings.front().message);
  for (const SiteCounters& site : report.sites) {
    EXPECT_EQ(site.bank_conflicts, 0u) << site.file << ":" << site.line;
  }
}

Passes run(const PatternRun& run, bool is_deterministic, std::uint64_t schedule_seed = 0) {
  return run.emulate({.profile = &arithmetic_profile("volta"), .schedule_seed = schedule_seed},
                     is_deterministic, expect_clean);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

constexpr std::string_view kKernels[] = {"volta-fp32acc", "volta-fp16acc"};

class VoltaPattern : public testing::TestWithParam<int> {};

/// The lists of a mask of one run a row are those tiles which a kernel without lists visits.
TEST_P(VoltaPattern, OfOneRunHasTheDenseKernelsBits) {
  for (const std::string_view kernel : kKernels) {
    for (const MaskSpec& mask : kMaskOfEachKind) {
      const float dropout_p = mask == MaskSpec::causal() ? 0.0f : 0.17f;
      SCOPED_TRACE(testing::Message() << kernel << ", " << name_of(mask) << ", " << dropout_p);
      const Problem problem{.batch = 1,
                            .heads = 2,
                            .seqlen_q = 290,
                            .seqlen_k = 177,
                            .head_dim = GetParam(),
                            .mask = mask,
                            .dropout_p = dropout_p,
                            .seed = 11,
                            .heads_k = 1};
      const Passes want = run(PatternRun(kernel, problem), true);
      const Passes got = run(PatternRun(kernel, with_pattern(problem, name_of(mask))), true);
      EXPECT_TRUE(same_bits(want.o, got.o));
      EXPECT_TRUE(same_bits(want.lse, got.lse));
      EXPECT_TRUE(same_bits(want.dq, got.dq));
      EXPECT_TRUE(same_bits(want.dk, got.dk));
      EXPECT_TRUE(same_bits(want.dv, got.dv));
    }
  }
}

template <class T>
double value_of(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return static_cast<double>(to_float(value));
  } else {
    return static_cast<double>(value);
  }
}

/// Each element within so much of itself, or of what goes with it. Scores are small and so
/// probabilities alike: of 300 keys one too many or too few changes log-sum-exp by 2^-8, and
/// gradients by more than is allowed here.
constexpr double kOfSums = 0x1p-14, kOfHalves = 0x1p-6, kRoundedToZero = 0x1p-22;

template <class T, class Slack>
void expect_near(const char* name, double tolerance, const std::vector<double>& want,
                 const std::vector<T>& got, Slack slack) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double value = value_of(got[i]);
    if (std::isinf(want[i])) {
      ASSERT_EQ(value, want[i]) << name << " " << i;
    } else {
      ASSERT_NEAR(value, want[i], tolerance * (std::abs(want[i]) + slack(i)) + kRoundedToZero)
          << name << " " << i;
    }
  }
}

double root_mean_square(const std::vector<double>& values) {
  double squares = 0.0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

void expect_as_by_pictures(std::string_view kernel, const Problem& problem,
                           const std::vector<Picture>& pictures, bool is_deterministic) {
  const PatternRun made(kernel, problem);
  const Passes got = run(made, is_deterministic, 7);
  const PatternAttention want =
      attention_by_pictures(problem, made.inputs().q.data(), made.inputs().k.data(),
                            made.inputs().v.data(), made.d_o().data(), pictures);
  const auto of_all = [](const std::vector<double>& values) {
    return [rms = root_mean_square(values)](std::size_t) { return rms; };
  };
  expect_near("lse", kOfSums, want.lse, got.lse, [](std::size_t) { return 1.0; });
  expect_near("o", kOfHalves, want.o, got.o, of_all(want.o));
  expect_near("dv", kOfHalves, want.dv, got.dv, of_all(want.dv));
  expect_near("dq", kOfHalves, want.dq, got.dq, [&](std::size_t i) { return want.dq_slack[i]; });
  expect_near("dk", kOfHalves, want.dk, got.dk, [&](std::size_t i) { return want.dk_slack[i]; });
}

/// SPARKBENCH_PATTERNS says how many: a few, unless all of them are asked for.
int patterns_to_try() {
  const char* const text = std::getenv("SPARKBENCH_PATTERNS");
  return text != nullptr ? std::atoi(text) : 16;
}

TEST(VoltaPatterns, DrawnAtRandomAreAsTheirPictures) {
  Random random(20);
  for (int i = 0; i < patterns_to_try(); ++i) {
    const RandomPattern drawn = random_pattern(random, 300);
    Problem problem{.heads = 2,
                    .head_dim = draw(random, 1, 16) * 8,
                    .dropout_p = i % 2 == 0 ? 0.0f : 0.2f,
                    .softmax_scale = 0.02f,
                    .seed = static_cast<std::uint64_t>(i),
                    .heads_k = draw(random, 1, 2)};
    const bool is_deterministic = i % 4 < 2;
    SCOPED_TRACE(testing::Message() << i << ": " << drawn.name << ", head_dim " << problem.head_dim
                                    << (is_deterministic ? ", deterministic" : ""));
    expect_as_by_pictures("volta-fp32acc", with_pattern(problem, drawn), drawn.of_unions,
                          is_deterministic);
    if (testing::Test::HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(, VoltaPattern, testing::Values(64, 128),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace sparkbench
