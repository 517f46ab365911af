// The errors of a run's kernels in one output and for one distribution of inputs, on the problems
// that all of them were verified on. So like is compared with like.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

struct StudiedKernel {
  std::string name;
  std::string title;  // "FP16-ACC", "FP32-ACC", or the name of a reference
  Role role = Role::kFused;
  std::vector<CaseRecord> cases;  // correct or incorrect, a case per problem; `accuracy` is that of
                                  // the studied output
};

struct AccuracyStudy {
  Pass pass = Pass::kForward;
  std::string output;                // "o", "dq", "dk" or "dv"
  std::optional<std::string> input;  // as in CaseProblem
  int input_scale = 1;               // the smallest for that input in the run

  /// Fused kernels first, FP16-ACC before FP32-ACC, then the references. Each has cases of the same
  /// problems in the same order. A kernel that was never verified is left out. If two fused kernels
  /// have the same accumulator, their titles are their names.
  std::vector<StudiedKernel> kernels;
};

/// Whether a case of this problem belongs to the study.
bool is_of_study(const AccuracyStudy& study, const CaseProblem& problem);

/// One study per pass, output and input that any kernel was verified on, in that order.
/// accuracy_breaks.h covers larger scales.
std::vector<AccuracyStudy> study_accuracy(const RunRecord& run);

}  // namespace sparkbench
