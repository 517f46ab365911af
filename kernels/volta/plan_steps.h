// What the plans of dense, varlen and sparse passes (plan.cc, plan_sparse.cc) share.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "kernels/varlen/work_lists.h"
#include "kernels/volta/backward/workspace.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/plan.h"

namespace sparkbench::volta {

/// The work list of every varlen kernel that keeps queries in the workspace. Other kernels list
/// blocks of their own rows, or of keys.
inline constexpr WorkListKind kQueryList = {false, kWorkspaceBlock};

inline InstanceWish wish_of(Accumulator accumulator, const PlanRequest& request,
                            std::string_view pass, int products,
                            BlockSource blocks = BlockSource::kDense) {
  return {pass, products, accumulator, request.problem, request.shared_bytes_per_block, blocks};
}

inline MemoryPart statistics_part(const BackwardParams& params, const Problem& rows) {
  return {"statistics", params.workspace.statistics, statistics_bytes(rows)};
}
inline MemoryPart sums_part(const BackwardParams& params, const Problem& rows) {
  return {"dq_sums", params.workspace.dq_sums, dq_sums_bytes(rows, false)};
}

/// After the products, where dQ has sums.
inline Step rounding_step(Accumulator accumulator, const PlanRequest& request,
                          const BackwardParams& params) {
  const KernelInstance& instance = instance_for(wish_of(accumulator, request, "bwd-round-dq", 0));
  Step step = dense_step(instance, request.problem, ParamBytes(params));
  step.reads = {sums_part(params, request.problem)};
  return step;
}

/// Reads the statistics, and adds to the sums of dQ where there are some.
inline void read_rows(const BackwardParams& params, const Problem& rows, Step& step) {
  step.reads.push_back(statistics_part(params, rows));
  if (params.workspace.dq_sums == nullptr || step.instance->products != kSummedProducts) return;
  step.reads.push_back(sums_part(params, rows));
  step.writes.push_back(sums_part(params, rows));
}

/// The plan of a pattern's pass.
std::vector<Step> sparse_forward_plan(Accumulator accumulator, const PlanRequest& request,
                                      Workspace& workspace);
std::vector<Step> sparse_backward_plan(Accumulator accumulator, const PlanRequest& request,
                                       Workspace& workspace);

/// Appends steps.
inline void append(std::vector<Step> steps, std::vector<Step>& plan) {
  for (Step& step : steps) plan.push_back(std::move(step));
}

}  // namespace sparkbench::volta
