// The launches of the Hopper kernels' passes (kernels/launch/plan.h).
#pragma once

#include <vector>

#include "kernels/hopper/dq_form.h"
#include "kernels/hopper/row_form.h"
#include "kernels/launch/plan.h"
#include "kernels/varlen/work_lists.h"

namespace sparkbench::hopper {

/// Throws NoInstance (kernels/launch/serving_instance.h), and as check_packed() does
/// (kernels/varlen/work_lists.h).
std::vector<Step> plan(const PlanRequest& request, Workspace& workspace);

/// A dense forward pass whose rows have such a form (row_form.h), and a dense or varlen backward
/// pass whose dQ has (dq_form.h).
std::vector<Step> forward_plan(const PlanRequest& request, RowForm form);
std::vector<Step> backward_plan(const PlanRequest& request, DqForm dq, Workspace& workspace);
std::vector<Step> varlen_backward_plan(const PlanRequest& request, DqForm dq, Workspace& workspace);

/// The list that an instance takes of varlen sequences.
WorkListKind work_list_kind(const KernelInstance& instance);

/// The instances of a pattern's pass that take lists, in the order of its lists: a backward one's
/// of keys, then of queries.
std::vector<const KernelInstance*> listed_instances(const PlanRequest& request, Pass pass);

}  // namespace sparkbench::hopper
