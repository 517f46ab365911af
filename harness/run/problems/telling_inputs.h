// Detects inputs whose outputs are trivial: a wrong kernel may get them right.
#pragma once

#include <vector>

#include "harness/run/problems/gradient_data.h"
#include "harness/run/problems/problem_data.h"
#include "results/record/case_record.h"

namespace sparkbench {

/// At most one W-INPUT-TELLS-NOTHING, which names what these inputs do not test. Uses the oracle on
/// up to 32 of the checked rows. Either O is the same with all scores 0, so that any kernel with
/// uniform weights is right (equal rows of V, Q or K zero, one visible key). Or it is the same with
/// scores 16 times as large, so that any kernel that picks the largest score is right. Or a
/// gradient is so small, relative to the largest of the three, that zeros would pass. `gradients`
/// is null without a backward pass.
std::vector<Warning> warn_of_telling_nothing(ProblemData& data, GradientData* gradients);

}  // namespace sparkbench
