#include "kernels/volta/plan.h"

#include <algorithm>
#include <utility>

#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/strided/passes_plan.h"
#include "kernels/tile/forward_params.h"
#include "kernels/varlen/list_step.h"
#include "kernels/volta/backward/relay_plan.h"
#include "kernels/volta/plan_steps.h"

namespace sparkbench::volta {
namespace {

std::vector<Step> dense_forward(Accumulator accumulator, const PlanRequest& request) {
  const Problem& problem = request.problem;
  const KernelInstance& instance =
      instance_for(wish_of(accumulator, request, "fwd", kForwardProducts));
  return {dense_step(instance, problem, ParamBytes(forward_params(problem, *request.forward)))};
}

std::vector<Step> dense_backward(Accumulator accumulator, const PlanRequest& request,
                                 Workspace& workspace) {
  const Problem& problem = request.problem;
  const bool is_deterministic = request.is_deterministic;
  if (has_relay(problem, is_deterministic)) {
    const KernelInstance* const relay = find_relay(accumulator, request);
    if (relay != nullptr) return relay_plan(*relay, request, relay_slot_bits(problem), workspace);
  }
  const BackwardParams params = backward_params(
      problem, *request.backward, take_workspace(problem, is_deterministic, workspace));
  const auto step = [&](std::string_view pass, int products) {
    Step made = dense_step(instance_for(wish_of(accumulator, request, pass, products)), problem,
                           ParamBytes(params));
    read_rows(params, problem, made);
    return made;
  };
  std::vector<Step> plan{statistics_step(accumulator, request, params)};
  if (is_deterministic) {
    plan.push_back(step("bwd", kKeyProducts));
    plan.push_back(step("bwd-dq", kDqProducts));
  } else {
    plan.push_back(memset_step(sums_part(params, problem), 0));
    plan.push_back(step("bwd", kSummedProducts));
    plan.push_back(rounding_step(accumulator, request, params));
  }
  return plan;
}

std::vector<Step> varlen_forward(Accumulator accumulator, const PlanRequest& request,
                                 Workspace& workspace) {
  const Problem& packed = request.problem;
  const PackedLengths& lengths = *request.lengths;
  const KernelInstance& instance =
      instance_for(wish_of(accumulator, request, "fwd", kForwardProducts, BlockSource::kVarlen));
  ForwardParams params = forward_params(packed, *request.forward);
  const WorkListKind kind{false, instance.block_rows};
  const WorkListParams list =
      work_list(packed, lengths, kind,
                workspace.take("work list", work_list_bytes(packed, lengths.batch, kind)));
  params.items = list.items;
  std::vector<Step> plan = list_steps(list, {});
  if (list.items_end == 0) return plan;
  plan.push_back(varlen_step(instance, packed, list.items_end, ParamBytes(params)));
  plan.back().reads = {items_of(list)};
  return plan;
}

/// The lists of queries and of keys, and what a pass over sequences of one length takes.
struct VarlenWorkspace {
  void *queries, *keys;
  BackwardWorkspace rows;

  VarlenWorkspace(const Problem& packed, int batch, const WorkListKind& of_keys,
                  bool is_deterministic, Workspace& workspace)
      : queries(workspace.take("work list", work_list_bytes(packed, batch, kQueryList))),
        keys(workspace.take("work list", work_list_bytes(packed, batch, of_keys))),
        rows(take_workspace(workspace_problem(packed, batch), is_deterministic, workspace)) {}
};

std::vector<Step> varlen_backward(Accumulator accumulator, const PlanRequest& request,
                                  Workspace& workspace) {
  const Problem& packed = request.problem;
  const PackedLengths& lengths = *request.lengths;
  const bool is_deterministic = request.is_deterministic;
  const auto instance = [&](std::string_view pass, int products) -> const KernelInstance& {
    return instance_for(wish_of(accumulator, request, pass, products, BlockSource::kVarlen));
  };
  const KernelInstance& of_keys =
      instance("bwd", is_deterministic ? kKeyProducts : kSummedProducts);
  const WorkListKind key_list{true, of_keys.block_rows};
  const VarlenWorkspace memory(packed, lengths.batch, key_list, is_deterministic, workspace);
  const WorkListParams queries = work_list(packed, lengths, kQueryList, memory.queries);
  const WorkListParams keys = work_list(packed, lengths, key_list, memory.keys);
  const Problem rows = workspace_problem(packed, lengths.batch);
  BackwardParams params = backward_params(packed, *request.backward, memory.rows);
  params.query_items = queries.items;
  params.key_items = keys.items;
  std::vector<Step> plan = list_steps(queries, keys);
  const auto add = [&](const KernelInstance& of, const WorkListParams& list) -> Step* {
    if (list.items_end == 0) return nullptr;
    plan.push_back(varlen_step(of, packed, list.items_end, ParamBytes(params)));
    plan.back().reads = {items_of(list)};
    return &plan.back();
  };
  if (Step* const step = add(instance("bwd-statistics", 0), queries)) {
    step->writes = {statistics_part(params, rows)};
  }
  if (!is_deterministic && queries.items_end > 0) {
    plan.push_back(memset_step(sums_part(params, rows), 0));
  }
  if (Step* const step = add(of_keys, keys)) read_rows(params, rows, *step);
  if (is_deterministic) {
    if (Step* const step = add(instance("bwd-dq", kDqProducts), queries)) {
      read_rows(params, rows, *step);
    }
  } else if (Step* const step = add(instance("bwd-round-dq", 0), queries)) {
    step->reads.push_back(sums_part(params, rows));
  }
  return plan;
}

/// Heads that have blocks of their own, and the rows of a head that blocks share.
int heads_of(const KernelInstance& instance, const Problem& problem) {
  return instance.pass() == "bwd" ? problem.key_heads() : problem.heads;
}
int rows_of(const KernelInstance& instance, const Problem& problem) {
  if (instance.pass() == "bwd") return problem.seqlen_k;
  return instance.pass() == "bwd-statistics" ? workspace_rows(problem.seqlen_q) : problem.seqlen_q;
}

PlanPass plan_with(Accumulator accumulator) {
  return [accumulator](const PlanRequest& request, Workspace& workspace) {
    return plan(accumulator, request, workspace);
  };
}

/// The workspace of a pattern that is run as strided views. Views run one after the other and share
/// one part of it.
PassesWorkspace passes_workspace(Accumulator accumulator, const PlanRequest& request, Pass pass) {
  std::uint64_t most = 0;
  for (const Problem& view : problems_of_views(request.problem)) {
    most = std::max(most, workspace_bytes(plan_with(accumulator), request.of(view), pass));
  }
  return {request.problem, pass, most};
}

}  // namespace

Step dense_step(const KernelInstance& instance, const Problem& problem, ParamBytes params) {
  Step step;
  step.instance = &instance;
  step.grid = {ceil_divide(rows_of(instance, problem), instance.block_rows),
               heads_of(instance, problem), problem.batch};
  step.params = std::move(params);
  return step;
}

WorkListKind work_list_kind(const KernelInstance& instance) {
  const bool is_of_keys = instance.pass() == "bwd";
  if (instance.pass() != "fwd" && !is_of_keys) return kQueryList;
  return {is_of_keys, instance.block_rows};
}

Step varlen_step(const KernelInstance& instance, const Problem& packed, int items,
                 ParamBytes params) {
  const int blocks_of_item = work_list_kind(instance).block_rows / instance.block_rows;
  Step step;
  step.instance = &instance;
  step.grid = packed_grid(blocks_of_item * heads_of(instance, packed), items);
  step.params = std::move(params);
  return step;
}

Step statistics_step(Accumulator accumulator, const PlanRequest& request,
                     const BackwardParams& params) {
  const KernelInstance& instance = instance_for(wish_of(accumulator, request, "bwd-statistics", 0));
  Step step = dense_step(instance, request.problem, ParamBytes(params));
  step.writes = {statistics_part(params, request.problem)};
  return step;
}

const KernelInstance* find_relay(Accumulator accumulator, const PlanRequest& request) {
  return find_instance(wish_of(accumulator, request, "bwd", kSummedProducts), true);
}

std::vector<Step> relay_plan(const KernelInstance& instance, const PlanRequest& request,
                             int slot_bits, Workspace& workspace) {
  const Problem& problem = request.problem;
  auto* const statistics = workspace.take<RowStatistics>("statistics", statistics_bytes(problem));
  const std::uint64_t sums_bytes = relay_sums_bytes(problem, slot_bits);
  auto* const sums = workspace.take<float>("dq_sums", sums_bytes);
  const std::uint64_t turns_bytes = sizeof(std::uint32_t) << slot_bits;
  auto* const turns = workspace.take<std::uint32_t>("turns", turns_bytes);
  BackwardParams params = backward_params(problem, *request.backward,
                                          {statistics, sums, workspace_rows(problem.seqlen_q)});
  params.relay = make_relay(problem, slot_bits, turns);
  std::vector<Step> plan;
  if (params.relay.prepares_statistics) {
    plan.push_back(memset_step(statistics_part(params, problem), kUnpublishedByte));
  } else {
    plan.push_back(statistics_step(instance.accumulator, request, params));
  }
  const MemoryPart of_turns{"turns", turns, turns_bytes};
  plan.push_back(memset_step(of_turns, 0));
  plan.push_back(dense_step(instance, problem, ParamBytes(params)));
  plan.back().reads = {statistics_part(params, problem), {"dq_sums", sums, sums_bytes}, of_turns};
  plan.back().writes = plan.back().reads;
  return plan;
}

std::vector<Step> plan(Accumulator accumulator, const PlanRequest& request, Workspace& workspace) {
  const bool is_forward = request.forward != nullptr;
  if (request.lengths != nullptr) {
    check_packed(request.problem, *request.lengths);
    return is_forward ? varlen_forward(accumulator, request, workspace)
                      : varlen_backward(accumulator, request, workspace);
  }
  if (has_mask_passes(request.problem)) {
    const PassesWorkspace layout =
        passes_workspace(accumulator, request, is_forward ? Pass::kForward : Pass::kBackward);
    void* const memory = workspace.take("views", layout.bytes);
    if (request.lists == nullptr) return {};  // who asks for the workspace
    return plan_of_views(request, layout, memory, plan_with(accumulator));
  }
  if (request.problem.sparse) {
    return is_forward ? sparse_forward_plan(accumulator, request, workspace)
                      : sparse_backward_plan(accumulator, request, workspace);
  }
  return is_forward ? dense_forward(accumulator, request)
                    : dense_backward(accumulator, request, workspace);
}

}  // namespace sparkbench::volta
