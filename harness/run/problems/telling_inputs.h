// Inputs whose outputs need no computing: a kernel may get them right and be wrong.
#pragma once

#include <vector>

#include "harness/run/problems/gradient_data.h"
#include "harness/run/problems/problem_data.h"
#include "results/record/case_record.h"

namespace sparkbench {

/// At most one W-INPUT-TELLS-NOTHING, which names what these inputs say nothing about. By the
/// oracle on up to 32 of the checked rows: O is the same with scores of 0, so that whatever weighs
/// keys alike is right (rows of V alike, Q or K zero, one visible key); or it is the same with
/// scores 16 times as large, so that whatever picks the largest is. And a gradient so small beside
/// the largest of the three that zeros in its place would pass. `gradients` is null without a
/// backward pass.
std::vector<Warning> warn_of_telling_nothing(ProblemData& data, GradientData* gradients);

}  // namespace sparkbench
