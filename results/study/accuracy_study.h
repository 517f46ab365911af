// The errors of the kernels of a run in one output and for one distribution of inputs, on the
// problems that all of them were verified on, so that a comparison compares like with like.
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
  std::optional<std::string> input;  // as CaseProblem has it
  int input_scale = 1;               // the smallest of that input in the run

  /// Fused kernels first, FP16-ACC before FP32-ACC, then the references; each with its cases of the
  /// same problems in the same order. A kernel that was never verified is left out. A fused kernel
  /// that shares its accumulator with another is titled by its name.
  std::vector<StudiedKernel> kernels;
};

/// Whether a case of this problem belongs to the study.
bool is_of_study(const AccuracyStudy& study, const CaseProblem& problem);

/// A study per pass, output and input that any kernel was verified on, in that order. At what
/// larger scale a kernel breaks is another question (accuracy_breaks.h).
std::vector<AccuracyStudy> study_accuracy(const RunRecord& run);

}  // namespace sparkbench
