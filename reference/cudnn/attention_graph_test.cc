// Tests that the graphs compute attention, with a fake cuDNN that runs them on the host.
#include "reference/cudnn/attention_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "reference/cudnn/plan.h"
#include "reference/cudnn/test_cudnn.h"
#include "reference/cudnn/test_host_tensors.h"
#include "reference/cudnn/test_problems.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/exact/exact_backward.h"
#include "reference/gradient_errors.h"

namespace sparkbench::cudnn {
namespace {

/// Results are rounded to fp16 once; intermediates are fp32.
constexpr Tolerance kOneRounding{.ratio = 0.0, .floor = 0x1p-10};

constexpr Tolerance kTwoRoundings{.ratio = 0.0, .floor = 0x1p-9};

template <class AddOperations>
void execute(const Api& api, HostTensors& tensors, const AddOperations& add_operations) {
  const Handle handle(api);
  auto graph = std::make_unique<Graph>(api);
  add_operations(*graph);
  Plan(api, handle, std::move(graph)).execute(tensors.bindings(), nullptr, nullptr);
}

void run_forward(const Api& api, const Problem& problem, HostTensors& tensors) {
  const AttentionStrides strides = tensors.strides();
  execute(api, tensors, [&](Graph& graph) { add_forward(graph, tensors.plan(problem, strides)); });
}

void run_backward(const Api& api, const Problem& problem, bool is_deterministic,
                  HostTensors& tensors) {
  const AttentionStrides strides = tensors.strides();
  execute(api, tensors, [&](Graph& graph) {
    add_backward(graph, tensors.plan(problem, strides), is_deterministic);
  });
}

/// Gradients given the forward pass that was run.
ExactGradients exact_gradients(const Problem& problem, const HostTensors& tensors,
                               const GradientRows& rows) {
  return exact_backward(problem,
                        {tensors.q.tensor(), tensors.k.tensor(), tensors.v.tensor(),
                         tensors.d_o.tensor(), tensors.o.tensor(), tensors.lse},
                        rows);
}

TEST(CudnnAttentionGraph, IsTheDefinitionForward) {
  const Api api = fake_api();
  for (const Problem& problem : problems_with_a_graph()) {
    HostTensors tensors(problem);
    run_forward(api, problem, tensors);
    const std::vector<QueryRow> rows = all_rows(problem);
    const ErrorMetrics error =
        error_metrics(gather_rows(problem, tensors.o.tensor(), tensors.lse, rows),
                      exact_forward(problem, tensors.inputs.view(), rows));
    EXPECT_EQ(why_incorrect(error, {}, kOneRounding), "") << describe(problem);
  }
}

TEST(CudnnAttentionGraph, IsTheDefinitionBackwardAndWithFixedSums) {
  const Api api = fake_api();
  for (const Problem& problem : problems_with_a_graph()) {
    HostTensors tensors(problem);
    run_forward(api, problem, tensors);
    const GradientRows rows = all_gradient_rows(problem);
    const ExactGradients want = exact_gradients(problem, tensors, rows);
    for (const bool is_deterministic : {false, true}) {
      run_backward(api, problem, is_deterministic, tensors);
      const HalfGradients got = gather_gradients(
          problem, {tensors.dq.tensor(), tensors.dk.tensor(), tensors.dv.tensor()}, rows);
      EXPECT_EQ(why_incorrect(gradient_errors(got, want), {}, kOneRounding), "")
          << describe(problem) << ", deterministic " << is_deterministic;
    }
  }
}

TEST(CudnnAttentionGraph, IsTheDefinitionWhereHeadsShareKeys) {
  const Api api = fake_api();
  for (const Problem& problem : problems_with_groups()) {
    HostTensors tensors(problem);
    run_forward(api, problem, tensors);
    const GradientRows rows = all_gradient_rows(problem);
    const ErrorMetrics error =
        error_metrics(gather_rows(problem, tensors.o.tensor(), tensors.lse, rows.dq),
                      exact_forward(problem, tensors.inputs.view(), rows.dq));
    EXPECT_EQ(why_incorrect(error, {}, kOneRounding), "") << describe(problem);
    run_backward(api, problem, false, tensors);
    const HalfGradients got = gather_gradients(
        problem, {tensors.dq.tensor(), tensors.dk.tensor(), tensors.dv.tensor()}, rows);
    EXPECT_EQ(why_incorrect(gradient_errors(got, exact_gradients(problem, tensors, rows)), {},
                            kTwoRoundings),
              "")
        << describe(problem) << ", heads_k " << problem.heads_k;
  }
}

TEST(CudnnAttentionGraph, ReadsAndWritesEveryLayoutInPlace) {
  const Api api = fake_api();
  const Problem problem{2, 3, 5, 9, 8, MaskSpec::window(3)};
  const GradientRows rows = all_gradient_rows(problem);
  for (const TestLayout layout : kTestLayouts) {
    HostTensors tensors(problem, layout);
    run_forward(api, problem, tensors);
    const ErrorMetrics error =
        error_metrics(gather_rows(problem, tensors.o.tensor(), tensors.lse, rows.dq),
                      exact_forward(problem, tensors.inputs.view(), rows.dq));
    EXPECT_EQ(why_incorrect(error, {}, kOneRounding), "") << name_of(layout);
    run_backward(api, problem, false, tensors);
    const HalfGradients got = gather_gradients(
        problem, {tensors.dq.tensor(), tensors.dk.tensor(), tensors.dv.tensor()}, rows);
    EXPECT_EQ(why_incorrect(gradient_errors(got, exact_gradients(problem, tensors, rows)), {},
                            kOneRounding),
              "")
        << name_of(layout);
    EXPECT_TRUE(tensors.have_untouched_gaps()) << name_of(layout);
  }
}

/// Rows and keys that cuDNN is not given stay as they were: zero, and this value.
void expect_no_key(const HostTensors& tensors, int heads) {
  for (const Range& range : tensors.batch->blind_rows) {
    for (int row = range.begin; row < range.end; ++row) {
      for (int head = 0; head < heads; ++head) {
        const auto at = static_cast<std::size_t>(head * tensors.batch->total_rows + row);
        EXPECT_EQ(tensors.lse[at], -std::numeric_limits<float>::infinity()) << row;
      }
    }
  }
}

void make_blind(HostTensors& tensors) {
  std::ranges::fill(tensors.lse, -std::numeric_limits<float>::infinity());
  for (LaidOutTensor* written : {&tensors.o, &tensors.dq, &tensors.dk, &tensors.dv}) {
    const std::vector<Half> zeros(written->tensor().size());
    *written = LaidOutTensor(zeros, written->shape, TestLayout::kContiguous);
  }
}

TEST(CudnnAttentionGraph, IsTheDefinitionOfPackedSequences) {
  const Api api = fake_api();
  EXPECT_EQ(packed_problems().size(), 48u);  // 8 masks: all but prefix
  for (const Problem& problem : packed_problems()) {
    SCOPED_TRACE(describe(problem) + ", heads_k " + std::to_string(problem.heads_k));
    HostTensors tensors(problem);
    make_blind(tensors);
    run_forward(api, problem, tensors);
    const GradientRows rows = all_gradient_rows(problem);
    const ErrorMetrics error =
        error_metrics(gather_rows(problem, tensors.o.tensor(), tensors.lse, rows.dq),
                      exact_forward(problem, tensors.inputs.view(), rows.dq));
    EXPECT_EQ(why_incorrect(error, {}, kOneRounding), "");
    expect_no_key(tensors, problem.heads);
    const ExactGradients want = exact_gradients(problem, tensors, rows);
    for (const bool is_deterministic : {false, true}) {
      run_backward(api, problem, is_deterministic, tensors);
      const HalfGradients got = gather_gradients(
          problem, {tensors.dq.tensor(), tensors.dk.tensor(), tensors.dv.tensor()}, rows);
      EXPECT_EQ(why_incorrect(gradient_errors(got, want), {}, kTwoRoundings), "")
          << "deterministic " << is_deterministic;
    }
  }
}

}  // namespace
}  // namespace sparkbench::cudnn
