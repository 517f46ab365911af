// Tests how well a sample of rows estimates the errors of all: kernels are emulated whole, and the
// rows of a plan are picked from that.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "harness/run/problems/check_plan.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/tensor_core/chip_arithmetic.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/problem/tensors.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/nightly.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

constexpr double kNoLimitOfWork = std::numeric_limits<double>::infinity();
constexpr double kMostOff = 0.1;

/// The smallest possible samples: of tiles, and of rows.
constexpr CheckBudget kLeastTiles = {1, 1}, kLeastRows = {kNoLimitOfWork, 1};

template <class T, class Row>
std::vector<T> pick(const std::vector<T>& all, const std::vector<Row>& all_rows,
                    const std::vector<Row>& rows) {
  const std::size_t columns = all.size() / all_rows.size();
  std::vector<T> picked;
  for (const Row& row : rows) {
    const auto at = std::lower_bound(all_rows.begin(), all_rows.end(), row) - all_rows.begin();
    const auto begin = all.begin() + at * static_cast<std::ptrdiff_t>(columns);
    picked.insert(picked.end(), begin, begin + static_cast<std::ptrdiff_t>(columns));
  }
  return picked;
}

void expect_alike(const ErrorMetrics& sample, const ErrorMetrics& whole, const std::string& of) {
  struct Metric {
    const char* name;
    double ErrorMetrics::*value;
  };
  for (const auto& [name, value] : {Metric{"rel_l1", &ErrorMetrics::rel_l1},
                                    {"rel_l2", &ErrorMetrics::rel_l2},
                                    {"rmse", &ErrorMetrics::rmse},
                                    {"mean_abs", &ErrorMetrics::mean_abs},
                                    {"mean_rel", &ErrorMetrics::mean_rel}}) {
    EXPECT_NEAR(sample.*value / (whole.*value), 1, kMostOff) << of << ", " << name;
  }
  // A squared error over two squares.
  EXPECT_NEAR(sample.cosine_diff / whole.cosine_diff, 1, 2 * kMostOff) << of;
  EXPECT_LE(sample.worst_row_rel_l1.value(), whole.worst_row_rel_l1.value()) << of;
}

struct Case {
  std::string kernel;
  Problem problem;
  std::string name;
};

Case make_case(const std::string& kernel, const std::string& mask, int seqlen, int heads = 1) {
  Problem problem{
      .batch = 1, .heads = heads, .seqlen_q = seqlen, .seqlen_k = seqlen, .head_dim = 64};
  if (mask.find("documents") != std::string::npos) {
    problem.sparse = make_sparse_mask(mask, seqlen, seqlen);
  } else {
    problem.mask = parse_mask(mask);
  }
  return {kernel, problem, kernel + ", " + mask + ", " + std::to_string(seqlen)};
}

EmulationOptions emulation_options() {
  return {.profile = &tensor_core_profile(70), .detect = false, .count = false};
}

struct Whole {
  explicit Whole(const Case& of)
      : problem(of.problem),
        kernel(*find_attention_kernel(of.kernel)),
        inputs(make_inputs(problem, Distribution::kNormal, 0)),
        rows(all_rows(problem)) {}

  Problem problem;
  const AttentionKernel& kernel;
  OwnedInputs inputs;
  std::vector<QueryRow> rows;
};

void expect_forward_estimate(const Case& of) {
  const Whole whole(of);
  const Problem& problem = whole.problem;
  std::vector<Half> o(problem.q_elements());
  std::vector<float> lse(problem.lse_elements());
  const ForwardInputs inputs = whole.inputs.view();
  emulate_forward(whole.kernel, problem,
                  contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                                     o.data(), lse.data()),
                  emulation_options(), {});
  const ForwardRows got = gather_rows(problem, o, lse, whole.rows);
  const ExactRows want = exact_forward(problem, inputs, whole.rows);
  const ErrorMetrics all = error_metrics(got, want);
  for (const CheckBudget& budget : {kLeastTiles, kLeastRows}) {
    const CheckPlan plan = make_check_plan(problem, budget);
    const ForwardRows some = {pick(got.o, whole.rows, plan.rows),
                              pick(got.lse, whole.rows, plan.rows)};
    const ExactRows exact = {pick(want.o, whole.rows, plan.rows),
                             pick(want.lse, whole.rows, plan.rows)};
    expect_alike(error_metrics(some, exact, plan.weights), all,
                 of.name + (plan.tiles.empty() ? ", rows" : ", tiles"));
  }
}

void expect_gradient_estimates(const Case& of) {
  const Whole whole(of);
  const Problem& problem = whole.problem;
  const ForwardInputs f = whole.inputs.view();
  const std::vector<Half> d_o = make_gradient_input(problem, Distribution::kNormal, 0);
  const RoundedForward forward = rounded_forward(problem, f, whole.rows);
  const BackwardInputs inputs = {f.q, f.k, f.v, d_o, forward.o, forward.lse};
  std::vector<Half> dq(problem.q_elements()), dk(problem.k_elements()), dv(problem.k_elements());
  emulate_backward(whole.kernel, problem,
                   contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                                      inputs.o.data(), inputs.d_o.data(), inputs.lse.data(),
                                      dq.data(), dk.data(), dv.data()),
                   emulation_options(), false, {});
  const GradientRows rows = all_gradient_rows(problem);
  const HalfGradients got = gather_gradients(problem, {dq, dk, dv}, rows);
  const ExactGradients want = exact_backward(problem, inputs, rows);
  const GradientErrors all = gradient_errors(got, want, {rows.dq.size()}, {rows.dkv.size()});
  for (const CheckBudget& budget : {kLeastTiles, kLeastRows}) {
    const GradientPlan plan = make_gradient_plan(problem, budget);
    const auto some_of = [&](const auto& of_all) {
      return Gradients{pick(of_all.dq, rows.dq, plan.rows.dq),
                       pick(of_all.dk, rows.dkv, plan.rows.dkv),
                       pick(of_all.dv, rows.dkv, plan.rows.dkv)};
    };
    const GradientErrors some =
        gradient_errors(some_of(got), some_of(want), {plan.rows.dq.size(), plan.dq_weights},
                        {plan.rows.dkv.size(), plan.dkv_weights});
    const std::string name = of.name + (plan.sample.is_everything() ? ", rows" : ", tiles");
    expect_alike(some.dq, all.dq, name + ", dq");
    expect_alike(some.dk, all.dk, name + ", dk");
    expect_alike(some.dv, all.dv, name + ", dv");
  }
}

const std::vector<std::string> kMasks = {"causal", "full", "window:200", "prefix:300",
                                         "causal-documents:700:100:900:348"};

/// Each mask with one accumulator, the next with the other; nightly with both.
std::vector<Case> cases_of_masks() {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < kMasks.size(); ++i) {
    if (is_tried(i, 2)) cases.push_back(make_case("volta-fp16acc", kMasks[i], 2048));
    if (is_tried(i + 1, 2)) cases.push_back(make_case("volta-fp32acc", kMasks[i], 2048));
  }
  return cases;
}

TEST(SampleEstimate, OfOIsThatOfAllRows) {
  for (const Case& of : cases_of_masks()) expect_forward_estimate(of);
}

TEST(SampleEstimate, OfLongCausalOIsThatOfAllRows) {
  expect_forward_estimate(make_case("volta-fp16acc", "causal", 4096, 2));
}

TEST(SampleEstimate, OfGradientsIsThatOfAllRows) {
  for (const Case& of : cases_of_masks()) expect_gradient_estimates(of);
}

TEST(SampleEstimate, OfLongCausalGradientsIsThatOfAllRows) {
  if (!is_nightly()) GTEST_SKIP() << "takes 10 s: nightly";
  expect_gradient_estimates(make_case("volta-fp16acc", "causal", 4096));
}

}  // namespace
}  // namespace sparkbench
