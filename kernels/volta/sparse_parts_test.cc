// How wrong blocks in parts are (plan.h), beside whole ones: parts' results are rounded to
// fp16 once more before they are merged.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/nightly.h"
#include "kernels/testing/test_sparse_checks.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"

namespace sparkbench {
namespace {

constexpr int kSeqlen = 3330;
/// That see, and are seen by, all of the others.
constexpr int kGlobal = 64;
constexpr std::string_view kSplit = "longformer:16:64";

Problem whole_problem(int head_dim) {
  return {.seqlen_q = kSeqlen,
          .seqlen_k = kSeqlen,
          .head_dim = head_dim,
          .mask = MaskSpec::full(),
          .seed = 6};
}

GradientRows global_rows() {
  GradientRows rows;
  for (int i = 0; i < kGlobal; ++i) {
    rows.dq.push_back({.batch = 0, .head = 0, .row = i});
    rows.dkv.push_back({.batch = 0, .head = 0, .row = i});
  }
  return rows;
}

/// Relative, of the global rows and keys.
struct RelativeErrors {
  double o, dq, dk, dv;
};

/// Errors of a deterministic backward pass that starts from the exact forward pass.
RelativeErrors errors_of_global_rows(std::string_view kernel, const Problem& problem) {
  const PatternRun made(kernel, problem);
  const EmulationOptions options{.profile = &arithmetic_profile("volta")};
  const GradientRows rows = global_rows();
  const auto inputs = made.inputs().view();

  Passes out{std::vector<Half>(problem.q_elements()), std::vector<Half>(problem.q_elements()),
             std::vector<Half>(problem.k_elements()), std::vector<Half>(problem.k_elements()),
             std::vector<float>(problem.lse_elements())};
  expect_clean(emulate_forward(made.kernel(), problem, made.forward(out), options, {{{0, 0, 0}}}));
  const ErrorMetrics o = error_metrics(gather_rows(problem, out.o, out.lse, rows.dq),
                                       exact_forward(problem, inputs, rows.dq));

  RoundedForward exact = rounded_forward(problem, inputs, all_rows(problem));
  out.o = exact.o;
  out.lse = exact.lse;
  expect_clean(emulate_backward(made.kernel(), problem, made.backward(out), options, true,
                                {{{0, 0, 0}}, {{0, 0, 0}}}));
  const GradientErrors of = gradient_errors(
      gather_gradients(problem, {out.dq, out.dk, out.dv}, rows),
      exact_backward(problem, {inputs.q, inputs.k, inputs.v, made.d_o(), exact.o, exact.lse},
                     rows));
  return {o.rel_l2, of.dq.rel_l2, of.dk.rel_l2, of.dv.rel_l2};
}

/// One accumulator at one head_dim and the other at the other; nightly both at both.
TEST(VoltaBlocksInParts, AreNearlyAsRightAsWholeOnes) {
  std::size_t cell = 0;
  for (const std::string_view kernel : {"volta-fp32acc", "volta-fp16acc"}) {
    ++cell;
    for (const int head_dim : {64, 128}) {
      if (!is_tried(cell++, 2)) continue;
      SCOPED_TRACE(std::string(kernel) + ", head_dim " + std::to_string(head_dim));
      const Problem problem = whole_problem(head_dim), split = with_pattern(problem, kSplit);
      ASSERT_GT(workspace_bytes(*find_attention_kernel(kernel), split, Pass::kForward, true), 0u);
      const RelativeErrors whole = errors_of_global_rows(kernel, problem);
      const RelativeErrors in_parts = errors_of_global_rows(kernel, split);
      const auto expect_near = [&](const char* name, double RelativeErrors::*of) {
        const double ratio = in_parts.*of / whole.*of;
        EXPECT_LT(ratio, 1.5) << name;
        RecordProperty(std::string(kernel) + "_d" + std::to_string(head_dim) + "_" + name,
                       std::to_string(ratio));
      };
      expect_near("o", &RelativeErrors::o);
      expect_near("dq", &RelativeErrors::dq);
      expect_near("dk", &RelativeErrors::dk);
      expect_near("dv", &RelativeErrors::dv);
    }
  }
}

}  // namespace
}  // namespace sparkbench
