// The plan of a pattern's pass.
#include <utility>

#include "kernels/block_sparse/listed_steps.h"
#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/tile/forward_params.h"
#include "kernels/volta/plan_steps.h"

namespace sparkbench::volta {

Step listed_step(const KernelInstance& instance, const Problem& problem,
                 const SparseTileLists& lists, ParamBytes params) {
  Step step = dense_step(instance, problem, std::move(params));
  step.grid = {step.grid[1], lists.blocks_of_head(), problem.batch};
  read_lists(lists, step);
  return step;
}

Step listed_gradients(const KernelInstance& instance, const Problem& problem,
                      const SparseTileLists& lists, const BackwardParams& params) {
  Step step = listed_step(instance, problem, lists, ParamBytes(params));
  read_rows(params, problem, step);
  return step;
}

std::vector<const KernelInstance*> listed_instances(Accumulator accumulator,
                                                    const PlanRequest& request, Pass pass) {
  const Problem dense = without_pattern(request.problem);
  const PlanRequest of_dense = request.of(dense);
  const auto instance = [&](std::string_view of_pass, int products) {
    return &instance_for(
        wish_of(accumulator, of_dense, of_pass, products, BlockSource::kBlockSparse));
  };
  if (pass == Pass::kForward) return {instance("fwd", kForwardProducts)};
  if (!request.is_deterministic) return {instance("bwd", kSummedProducts)};
  return {instance("bwd", kKeyProducts), instance("bwd-dq", kDqProducts)};
}

GroupWalk walk_of_lists(const KernelInstance& instance, const SparseTileLists& lists,
                        int first_member, int end_member) {
  return group_walk(list_kind_of(instance).step * static_cast<int>(lists.all_tiles().size()),
                    first_member, end_member);
}

std::vector<Step> sparse_forward_plan(Accumulator accumulator, const PlanRequest& request,
                                      Workspace& workspace) {
  const Problem dense = without_pattern(request.problem);
  const PlanRequest of_dense = request.of(dense);
  const ListedBlocks blocks(*listed_instances(accumulator, request, Pass::kForward)[0], of_dense,
                            *request.problem.sparse, request.first_list);
  const int rows = blocks.part_rows();
  const ForwardParts parts = take_forward_parts(dense, rows, workspace);
  if (request.lists == nullptr) return {};  // who asks for the workspace
  ForwardParams params = forward_params(dense, *request.forward);
  params.sparse = blocks.at_launch();
  give_parts(params, dense, rows, parts.o, parts.lse);
  std::vector<Step> plan{listed_step(blocks.instance(), dense, blocks.lists(), ParamBytes(params))};
  blocks.write_splits("o of parts", parts.o, plan[0]);
  if (rows > 0) plan[0].writes.push_back({"lse of parts", parts.lse, part_lse_bytes(dense, rows)});
  append(blocks.merge(params, parts), plan);
  return plan;
}

std::vector<Step> sparse_backward_plan(Accumulator accumulator, const PlanRequest& request,
                                       Workspace& workspace) {
  const Problem dense = without_pattern(request.problem);
  const PlanRequest of_dense = request.of(dense);
  const bool is_deterministic = request.is_deterministic;
  const auto instances = listed_instances(accumulator, request, Pass::kBackward);
  const SparseMask& mask = *request.problem.sparse;
  const ListedBlocks keys(*instances.front(), of_dense, mask, request.first_list),
      queries(*instances.back(), of_dense, mask, request.first_list + 1);
  const int key_rows = keys.part_rows(), query_rows = is_deterministic ? queries.part_rows() : 0;
  const BackwardWorkspace rows = take_workspace(dense, is_deterministic, workspace);
  const GradientParts parts(dense, key_rows, query_rows, workspace);
  if (request.lists == nullptr) return {};  // as above
  BackwardParams params = backward_params(dense, *request.backward, rows);
  give_key_parts(params, dense, key_rows, parts.dk, parts.dv);
  give_query_parts(params, dense, query_rows, parts.dq);
  params.sparse_keys = keys.at_launch();
  if (is_deterministic) params.sparse_queries = queries.at_launch();
  std::vector<Step> plan{statistics_step(accumulator, of_dense, params)};
  if (!is_deterministic) plan.push_back(memset_step(sums_part(params, dense), 0));
  BackwardParams walked = params;
  walked.walk = walk_of_lists(keys.instance(), keys.lists(), 0, dense.group_size());
  plan.push_back(listed_gradients(keys.instance(), dense, keys.lists(), walked));
  keys.write_splits("dk of parts", parts.dk, plan.back());
  keys.write_splits("dv of parts", parts.dv, plan.back());
  append(keys.sum("dk of parts", params.head_chunks, params.part_dk, params.dk), plan);
  append(keys.sum("dv of parts", params.head_chunks, params.part_dv, params.dv), plan);
  if (!is_deterministic) {
    plan.push_back(rounding_step(accumulator, of_dense, params));
    return plan;
  }
  plan.push_back(listed_gradients(queries.instance(), dense, queries.lists(), params));
  queries.write_splits("dq of parts", parts.dq, plan.back());
  append(queries.sum("dq of parts", params.head_chunks, params.part_dq, params.dq), plan);
  return plan;
}

}  // namespace sparkbench::volta
