// The launches of the Hopper kernels' passes (kernels/launch/plan.h).
#pragma once

#include <vector>

#include "kernels/hopper/dq_form.h"
#include "kernels/hopper/row_form.h"
#include "kernels/launch/plan.h"

namespace sparkbench::hopper {

/// Throws std::invalid_argument where no instance serves, and as check_packed() does
/// (kernels/varlen/work_lists.h).
std::vector<Step> plan(const PlanRequest& request, Workspace& workspace);

/// A dense forward pass whose rows have such a form (row_form.h), and a dense or varlen backward
/// pass whose dQ has (dq_form.h).
std::vector<Step> forward_plan(const PlanRequest& request, RowForm form);
std::vector<Step> backward_plan(const PlanRequest& request, DqForm dq, Workspace& workspace);
std::vector<Step> varlen_backward_plan(const PlanRequest& request, DqForm dq, Workspace& workspace);

/// Device memory that a pass takes beside its tensors. Saturates.
std::uint64_t plan_bytes(const PlanRequest& request, Pass pass);

/// The lists that a pattern's pass takes: a backward one those of keys, then those of queries.
std::vector<SparseListKind> list_kinds(const Problem& problem, Pass pass);

}  // namespace sparkbench::hopper
