// Whether a case takes longer in another run, by its time and its clock cycles.
#pragma once

#include "results/study/case_diff.h"

namespace sparkbench {

/// Sets the ratios of `diff`. Returns kSlow, kFast, kClock, kAmbiguous or kSame; kSame also if
/// neither run has a valid time. A ratio within the threshold is kSame if the uncertainty is at
/// most twice the threshold, and kAmbiguous otherwise, because a larger change could be hidden in
/// it.
CaseFinding compare_times(const CaseSide& first, const CaseSide& second, const DiffRules& rules,
                          CaseDiff& diff);

}  // namespace sparkbench
