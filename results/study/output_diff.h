// Whether a case's output has a larger error, more memory, or other bits in another run.
#pragma once

#include "results/study/case_diff.h"

namespace sparkbench {

/// kWorse if an output's rel_l2 has grown by more than a twentieth, if lse's largest error has more
/// than doubled, or if more elements are not finite. Another order of summation changes rel_l2, a
/// mean over some 100,000 elements, by far less.
void compare_errors(const CaseRecord& first, const CaseRecord& second, CaseDiff& diff);

/// kMemory if the measured peak has grown by more than 1 % and two driver pages, or the workspace
/// by more than 1 %.
void compare_memory(const CaseRecord& first, const CaseRecord& second, CaseDiff& diff);

/// kBits if an output or the dropout mask has another hash, and both runs either found the output
/// repeatable or did not test it.
void compare_bits(const CaseRecord& first, const CaseRecord& second, CaseDiff& diff);

}  // namespace sparkbench
