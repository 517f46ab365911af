// Whether a case takes longer in another run, by its time and its clock cycles.
#pragma once

#include "results/study/case_diff.h"

namespace sparkbench {

/// Sets the ratios of `diff`. kSlow, kFast, kClock, kAmbiguous or kSame; kSame also where neither
/// run has a valid time. What is no further off than the threshold is the same when the doubt is at
/// most twice the threshold, and ambiguous else: more could hide in it.
CaseFinding compare_times(const CaseSide& first, const CaseSide& second, const DiffRules& rules,
                          CaseDiff& diff);

}  // namespace sparkbench
