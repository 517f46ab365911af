// Checks of the tests of patterns on the emulated machine: that a run is clean, the same bits as
// another, and near a pattern's attention by its definition in FP64.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/testing/same_bits.h"
#include "kernels/testing/test_sparse.h"

namespace sparkbench {

inline void expect_clean(const EmulationReport& report) {
  EXPECT_EQ(report.findings_total, 0u)
      << (report.findings.empty() ? "" : report.findings.front().message);
  for (const SiteCounters& site : report.sites) {
    EXPECT_EQ(site.bank_conflicts, 0u) << site.file << ":" << site.line;
  }
}

inline Passes run(const PatternRun& run, bool is_deterministic, std::uint64_t schedule_seed = 0) {
  EmulationOptions options = options_of(run.kernel());
  options.schedule_seed = schedule_seed;
  return run.emulate(options, is_deterministic, expect_clean);
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
/// gradients by more than is allowed here. Where scores are summed in FP16 both they and dP, some
/// tens, have errors of 2^-5: for log-sum-exp to tell of one key they are to be scaled by 0.005,
/// and gradients tell of one of 100.
constexpr double kOfSums = 0x1p-14, kOfFp16Scores = 0x1p-12, kOfHalves = 0x1p-6,
                 kOfFp16Gradients = 0x1p-3, kRoundedToZero = 0x1p-22;

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

inline double root_mean_square(const std::vector<double>& values) {
  double squares = 0.0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// Checks each pass that the kernel has.
inline void expect_as_by_pictures(std::string_view kernel, const Problem& problem,
                                  const std::vector<Picture>& pictures, bool is_deterministic) {
  const PatternRun made(kernel, problem);
  const Passes got = run(made, is_deterministic, 7);
  const PatternAttention want =
      attention_by_pictures(problem, made.inputs().q.data(), made.inputs().k.data(),
                            made.inputs().v.data(), made.d_o().data(), pictures);
  const auto of_all = [](const std::vector<double>& values) {
    return [rms = root_mean_square(values)](std::size_t) { return rms; };
  };
  const bool is_fp32 = made.kernel().accumulator == Accumulator::kFp32;
  expect_near("lse", is_fp32 ? kOfSums : kOfFp16Scores, want.lse, got.lse,
              [&](std::size_t) { return is_fp32 ? 1.0 : 3.0; });
  expect_near("o", kOfHalves, want.o, got.o, of_all(want.o));
  expect_near("dv", kOfHalves, want.dv, got.dv, of_all(want.dv));
  const double of_gradients = is_fp32 ? kOfHalves : kOfFp16Gradients;
  expect_near("dq", of_gradients, want.dq, got.dq, [&](std::size_t i) { return want.dq_slack[i]; });
  expect_near("dk", of_gradients, want.dk, got.dk, [&](std::size_t i) { return want.dk_slack[i]; });
}

}  // namespace sparkbench
