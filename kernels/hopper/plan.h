// The launches of the Hopper kernels' passes (kernels/launch/plan.h).
#pragma once

#include <vector>

#include "kernels/block_sparse/sparse_lists.h"
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

/// The lists that a pattern's pass takes: a backward one those of keys, then those of queries.
std::vector<SparseListKind> list_kinds(const Problem& problem, Pass pass);

}  // namespace sparkbench::hopper
