// Whether a case's output is further off, takes more memory, or has other bits in another run.
#pragma once

#include "results/study/case_diff.h"

namespace sparkbench {

/// kWorse when rel_l2 of an output has grown by more than a twentieth, the largest error of lse to
/// more than twice, or the number of elements that are not finite at all. Another order of
/// summation changes rel_l2, a mean over some 100,000 elements, by far less.
void compare_errors(const CaseRecord& first, const CaseRecord& second, CaseDiff& diff);

/// kMemory when the measured peak has grown by more than 1 % and two of the driver's pages, or the
/// workspace by more than 1 %.
void compare_memory(const CaseRecord& first, const CaseRecord& second, CaseDiff& diff);

/// kBits when an output or the dropout mask has another hash, and both runs found the output
/// repeatable, or did not try.
void compare_bits(const CaseRecord& first, const CaseRecord& second, CaseDiff& diff);

}  // namespace sparkbench
