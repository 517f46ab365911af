// Kernels with FP32 accumulators keep scores in FP32 up to the softmax: they err less than the
// unfused computation, which stores scores in fp16. The verdict allows twice its error, so that it
// cannot tell.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_options.h"
#include "reference/error_metrics.h"
#include "reference/exact/exact.h"
#include "reference/inputs/inputs.h"
#include "reference/unfused/unfused.h"

namespace sparkbench {
namespace {

class Fp32Scores : public testing::TestWithParam<std::string_view> {};

TEST_P(Fp32Scores, AreNotRoundedToHalf) {
  const AttentionKernel& kernel = *find_attention_kernel(GetParam());
  const EmulationOptions options = options_of(kernel);
  for (const int head_dim : {64, 128}) {
    const Problem problem{.heads = 2, .seqlen_q = 200, .seqlen_k = 200, .head_dim = head_dim};
    const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 7, 1.5f);
    std::vector<Half> o(problem.q_elements());
    std::vector<float> lse(problem.lse_elements());
    emulate_forward(kernel, problem,
                    contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                                       o.data(), lse.data()),
                    options, {});
    const std::vector<QueryRow> rows = all_rows(problem);
    const ExactRows want = exact_forward(problem, inputs.view(), rows);
    const ErrorMetrics fused = error_metrics(gather_rows(problem, o, lse, rows), want);
    const ErrorMetrics unfused = error_metrics(
        unfused_forward(problem, inputs.view(), rows, {*options.profile, Accumulator::kFp32}),
        want);
    EXPECT_LT(fused.rel_l2, 0.7 * unfused.rel_l2) << head_dim;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Fp32Scores, testing::Values("volta-fp32acc", "hopper-fp32acc"));

}  // namespace
}  // namespace sparkbench
