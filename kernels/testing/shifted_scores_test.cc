// Every fused kernel on its emulated device: results do not depend on what is added to all scores,
// at every length, with every kind of sequence. Forward pass, then the backward pass from its O and
// LSE.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "kernels/hopper/emulated.h"
#include "kernels/launch/run_emulated.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/testing/test_options.h"
#include "kernels/testing/test_shifted_scores.h"

namespace sparkbench {
namespace {

void expect_no_findings(const EmulationReport& report) {
  ASSERT_EQ(report.findings_total, 0u)
      << (report.findings.empty() ? "" : report.findings.front().message);
}

/// A kernel, and of Hopper's backward pass the form of dQ, where it is not the dispatch's choice.
struct Variant {
  std::string_view kernel;
  std::optional<hopper::DqForm> dq = {};

  friend void PrintTo(const Variant& variant, std::ostream* out) {
    *out << variant.kernel << (variant.dq ? ", dQ summed" : "");
  }
};

/// Both passes; a kernel without a backward pass leaves gradients empty.
class EmulatedPasses {
 public:
  EmulatedPasses(const Variant& variant, bool is_deterministic)
      : kernel_(*find_attention_kernel(variant.kernel)),
        dq_(variant.dq),
        is_deterministic_(is_deterministic),
        options_(options_of(kernel_)) {
    options_.count = options_.detect = false;  // other tests look for races
  }

  Passes run(const ShiftedCase& made) const {
    if (made.problem().lengths) return run_packed(made.packed());
    const PatternRun run = made.run(kernel_.name);
    if (!dq_) return run.emulate(options_, is_deterministic_, expect_no_findings);
    Passes out = run.emulate(options_, true, expect_no_findings);
    const BackwardTensors tensors = run.backward(out);
    expect_no_findings(emulate_form(run.problem(), tensors, nullptr));
    return out;
  }

 private:
  EmulationReport emulate_form(const Problem& problem, const BackwardTensors& tensors,
                               const PackedLengths* lengths) const {
    PlanRequest request = for_emulated_device(backward_request(problem, tensors, false), options_);
    request.lengths = lengths;
    return hopper::emulate_backward(request, options_, *dq_, {});
  }
  Passes run_packed(const PackedCase& made) const {
    PackedRows rows(made);
    expect_no_findings(emulate_packed_forward(kernel_, made.problem, made.lengths(),
                                              made.tensors(rows), options_, {}));
    PackedGradients gradients(made);
    const auto tensors = made.tensors(rows, gradients);
    const PackedLengths lengths = made.lengths();
    expect_no_findings(dq_ ? emulate_form(made.problem, tensors, &lengths)
                           : emulate_packed_backward(kernel_, made.problem, made.lengths(), tensors,
                                                     options_, is_deterministic_, {}));
    return {rows.o, gradients.dq, gradients.dk, gradients.dv, rows.lse};
  }

  const AttentionKernel& kernel_;
  const std::optional<hopper::DqForm> dq_;
  const bool is_deterministic_;
  EmulationOptions options_;
};

class ShiftedScores : public testing::TestWithParam<Variant> {
 protected:
  const AttentionKernel& kernel() const { return *find_attention_kernel(GetParam().kernel); }
  bool is_hopper() const { return kernel().instruction == MmaInstruction::kWgmma; }
  bool serves(const Problem& problem) const {
    if (GetParam().dq && problem.head_dim > 128) return false;
    const std::size_t shared_bytes = options_of(kernel()).shared_bytes_per_block;
    return bool{kernel().supports(problem, {is_hopper() ? 90 : 70, shared_bytes, true}, false)};
  }
  /// FP16 sums hold a score of 8000 to within 4: there the demand is that results are finite.
  double tolerance() const { return kernel().accumulator == Accumulator::kFp32 ? 0x1p-6 : 1e9; }

  void expect_exact(const Problem& problem, bool is_deterministic,
                    ScoreKind kind = ScoreKind::kNormal) const {
    if (!serves(problem)) return;
    const ShiftedCase made(problem, kind);
    made.expect_exact(EmulatedPasses(GetParam(), is_deterministic).run(made), tolerance());
  }
};

/// Heads that share keys, and heads that do not, have backward kernels of their own. Each length
/// with the second of three problems or with the others, the next length the other way round;
/// nightly with all.
TEST_P(ShiftedScores, DoNotMatterAtAnyLength) {
  std::size_t cell = 0;
  for (const int length : some_lengths_around_tiles()) {
    SCOPED_TRACE(length);
    const bool is_odd = length % 2 == 1;
    ++cell;
    if (is_tried(cell, 2)) {
      expect_exact(shifted_problem(64, length, length, MaskSpec::full(), 2), is_odd);
      expect_exact(shifted_problem(64, length / 2 + 1, length, mask_of_length(length + 1), 1),
                   is_odd);
    }
    if (is_tried(cell + 1, 2)) {
      expect_exact(shifted_problem(64, length, length, mask_of_length(length), 2), !is_odd);
    }
    if (HasFatalFailure()) return;
  }
}

TEST_P(ShiftedScores, DoNotMatterInPatterns) {
  for (const int length : some_lengths_around_tiles()) {
    if (GetParam().dq) continue;  // patterns have one form
    SCOPED_TRACE(testing::Message() << length << ", " << pattern_of_length(length));
    const int heads_k = length % 3 == 0 ? 1 : 2;
    expect_exact(
        with_pattern(shifted_problem(64, length, length, {}, heads_k), pattern_of_length(length)),
        length % 2 == 1);
    if (HasFatalFailure()) return;
  }
}

TEST_P(ShiftedScores, DoNotMatterInPackedSequences) {
  const std::vector<int> lengths = some_lengths_around_tiles();
  expect_exact(packed_shifted_problem(64, MaskSpec::full(), lengths), false);
  expect_exact(packed_shifted_problem(64, MaskSpec::band(20, 30), lengths), true);
  expect_exact(packed_shifted_problem(128, MaskSpec::full(), lengths), true);
}

TEST_P(ShiftedScores, DoNotMatterForAnyHeadDim) {
  std::size_t cell = 0;
  for (const int head_dim : with_nightly<int>({80, 128, 256}, {8, 40, 96, 136})) {
    ++cell;  // the other length than before
    for (const int length : with_nightly<int>({65, 100}, {15, 129})) {
      if (!is_tried(cell++, 2)) continue;
      SCOPED_TRACE(testing::Message() << head_dim << ", " << length);
      const Problem problem = shifted_problem(head_dim, length, length, MaskSpec::full(), 2);
      expect_exact(problem, length == 100);
      if (!GetParam().dq) expect_exact(with_pattern(problem, "blocked:16"), length == 100);
    }
  }
}

TEST_P(ShiftedScores, MayBeAlikeOrHugeOrHaveOneWinner) {
  for (const ScoreKind kind : {ScoreKind::kAlike, ScoreKind::kHuge, ScoreKind::kOneWins}) {
    for (const int length : with_nightly<int>({1, 130}, {63, 64, 100})) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(kind) << ", " << length);
      expect_exact(shifted_problem(64, length, length, MaskSpec::full(), 1), false, kind);
      expect_exact(shifted_problem(128, length, length, MaskSpec::causal(), 2), true, kind);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, ShiftedScores,
                         testing::Values(Variant{"volta-fp32acc"}, Variant{"volta-fp16acc"},
                                         Variant{"hopper-fp32acc"},
                                         Variant{"hopper-fp32acc", hopper::DqForm::kSummed}));

}  // namespace
}  // namespace sparkbench
