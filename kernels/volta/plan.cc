#include "kernels/volta/plan.h"

#include <algorithm>
#include <utility>

#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/merge_steps.h"
#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/strided/passes_plan.h"
#include "kernels/tile/forward_params.h"
#include "kernels/varlen/list_step.h"
#include "kernels/volta/backward/relay_plan.h"
#include "kernels/volta/backward/workspace.h"
#include "kernels/volta/dispatch.h"

namespace sparkbench::volta {
namespace {

/// Of all kernels of a varlen pass that have queries in the workspace; others take blocks of their
/// own rows, or keys.
constexpr WorkListKind kQueryList = {false, kWorkspaceBlock};

/// Of dK and dV with the sums of dQ, without them, and of dQ in a kernel of its own.
constexpr int kForwardProducts = 2, kSummedProducts = 5, kKeyProducts = 4, kDqProducts = 3;

InstanceWish wish_of(Accumulator accumulator, const PlanRequest& request, std::string_view pass,
                     int products, BlockSource blocks = BlockSource::kDense) {
  return {pass, products, accumulator, request.problem, request.shared_bytes_per_block, blocks};
}

MemoryPart statistics_part(const BackwardParams& params, const Problem& rows) {
  return {"statistics", params.workspace.statistics, statistics_bytes(rows)};
}
MemoryPart sums_part(const BackwardParams& params, const Problem& rows) {
  return {"dq_sums", params.workspace.dq_sums, dq_sums_bytes(rows, false)};
}

/// After the products, where dQ has sums.
Step rounding(Accumulator accumulator, const PlanRequest& request, const BackwardParams& params) {
  const KernelInstance& instance = instance_for(wish_of(accumulator, request, "bwd-round-dq", 0));
  Step step = dense_step(instance, request.problem, ParamBytes(params));
  step.reads = {sums_part(params, request.problem)};
  return step;
}

/// Reads the statistics, and adds to the sums of dQ where there are some.
void read_rows(const BackwardParams& params, const Problem& rows, Step& step) {
  step.reads.push_back(statistics_part(params, rows));
  if (params.workspace.dq_sums == nullptr || step.instance->products != kSummedProducts) return;
  step.reads.push_back(sums_part(params, rows));
  step.writes.push_back(sums_part(params, rows));
}

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
    plan.push_back(rounding(accumulator, request, params));
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

/// Rows that parts of a launch share.
RowsOfHeads split_rows(const Problem& problem, const SparseTileLists& lists, int block_rows,
                       int heads) {
  return {static_cast<int>(lists.splits().size()) * block_rows, heads, problem.batch};
}

MemoryPart part_of(const char* name, const void* first, const Problem& problem, int heads,
                   int rows) {
  return {name, first, part_tensor_bytes(problem, heads, rows)};
}

template <class T>
void read_list(const char* name, const std::vector<T>& list, Step& step) {
  step.reads.push_back({name, list.data(), list.size() * sizeof(T)});
}
void read_lists(const SparseTileLists& lists, Step& step) {
  read_list("pattern blocks", lists.all_blocks(), step);
  read_list("pattern tiles", lists.all_tiles(), step);
  read_list("pattern words", lists.words(), step);
}

std::vector<Step> sparse_forward(Accumulator accumulator, const PlanRequest& request,
                                 Workspace& workspace) {
  const Problem& dense = request.problem;
  const SparseTileLists& lists = (*request.lists)[request.first_list];
  const KernelInstance& instance = instance_for(
      wish_of(accumulator, request, "fwd", kForwardProducts, BlockSource::kBlockSparse));
  const int rows = lists.part_rows();
  ForwardParams params = forward_params(dense, *request.forward);
  params.sparse = request.lists->at(request.first_list, request.list_memory);
  const ForwardParts parts = take_forward_parts(dense, rows, workspace);
  give_parts(params, dense, rows, parts.o, parts.lse);
  std::vector<Step> plan{listed_step(instance, dense, lists, ParamBytes(params))};
  if (rows == 0) return plan;
  const std::vector<MemoryPart> of_parts{part_of("o of parts", parts.o, dense, dense.heads, rows),
                                         {"lse of parts", parts.lse, part_lse_bytes(dense, rows)}};
  plan[0].writes = of_parts;
  plan.push_back(merge_parts_step(
      merge_parts_params(params, dense.seqlen_q,
                         request.lists->splits_at(request.first_list, request.list_memory),
                         instance.block_rows),
      split_rows(dense, lists, instance.block_rows, dense.heads)));
  plan[1].reads = of_parts;
  read_list("splits", lists.splits(), plan[1]);
  return plan;
}

/// What parts of a backward pass's blocks store: null where none do.
struct GradientParts {
  Half *dk = nullptr, *dv = nullptr, *dq = nullptr;

  GradientParts(const Problem& problem, int key_rows, int query_rows, Workspace& workspace) {
    const auto take = [&](const char* name, int heads, int rows) {
      return workspace.take<Half>(name, part_tensor_bytes(problem, heads, rows));
    };
    if (key_rows > 0) {
      dk = take("dk of parts", problem.key_heads(), key_rows);
      dv = take("dv of parts", problem.key_heads(), key_rows);
    }
    if (query_rows > 0) dq = take("dq of parts", problem.heads, query_rows);
  }
};

/// The launches of one list of a backward pass: its blocks, and the sums of what parts have.
class ListedGradients {
 public:
  ListedGradients(const KernelInstance& instance, const PlanRequest& request, int index)
      : instance_(instance),
        request_(request),
        index_(index),
        lists_((*request.lists)[index]),
        heads_(instance.pass() == "bwd" ? request.problem.key_heads() : request.problem.heads) {}

  void append_blocks(const BackwardParams& params, std::vector<Step>& plan) const {
    plan.push_back(listed_gradients(instance_, request_.problem, lists_, params));
  }
  void append_sum(const char* name, const BackwardParams& params, const ChunkedView<Half>& part,
                  const ChunkedView<Half>& x, std::vector<Step>& plan) const {
    const int rows = lists_.part_rows();
    if (rows == 0) return;
    const bool is_of_keys = instance_.pass() == "bwd";
    const int seqlen = is_of_keys ? request_.problem.seqlen_k : request_.problem.seqlen_q;
    const SplitRows split{request_.lists->splits_at(index_, request_.list_memory),
                          instance_.block_rows, seqlen, rows};
    Step step = sum_parts_step(sum_parts_params(split, params.head_chunks, part, x),
                               split_rows(request_.problem, lists_, instance_.block_rows, heads_));
    step.reads = {part_of(name, part.first, request_.problem, heads_, rows)};
    read_list("splits", lists_.splits(), step);
    plan.push_back(std::move(step));
  }

 private:
  const KernelInstance& instance_;
  const PlanRequest& request_;
  int index_;
  const SparseTileLists& lists_;
  int heads_;
};

std::vector<Step> sparse_backward(Accumulator accumulator, const PlanRequest& request,
                                  Workspace& workspace) {
  const Problem& dense = request.problem;
  const bool is_deterministic = request.is_deterministic;
  const int keys = request.first_list, queries = request.first_list + 1;
  const int key_rows = (*request.lists)[keys].part_rows();
  const int query_rows = is_deterministic ? (*request.lists)[queries].part_rows() : 0;
  BackwardParams params =
      backward_params(dense, *request.backward, take_workspace(dense, is_deterministic, workspace));
  const GradientParts parts(dense, key_rows, query_rows, workspace);
  give_key_parts(params, dense, key_rows, parts.dk, parts.dv);
  give_query_parts(params, dense, query_rows, parts.dq);
  params.sparse_keys = request.lists->at(keys, request.list_memory);
  if (is_deterministic) params.sparse_queries = request.lists->at(queries, request.list_memory);
  const auto instance = [&](std::string_view pass, int products) -> const KernelInstance& {
    return instance_for(wish_of(accumulator, request, pass, products, BlockSource::kBlockSparse));
  };
  std::vector<Step> plan{statistics_step(accumulator, request, params)};
  if (!is_deterministic) plan.push_back(memset_step(sums_part(params, dense), 0));
  const KernelInstance& of_keys =
      instance("bwd", is_deterministic ? kKeyProducts : kSummedProducts);
  const ListedGradients key_gradients(of_keys, request, keys);
  BackwardParams walked = params;
  walked.walk = walk_of_lists(of_keys, (*request.lists)[keys], 0, dense.group_size());
  key_gradients.append_blocks(walked, plan);
  if (key_rows > 0) {
    plan.back().writes.push_back(
        part_of("dk of parts", parts.dk, dense, dense.key_heads(), key_rows));
    plan.back().writes.push_back(
        part_of("dv of parts", parts.dv, dense, dense.key_heads(), key_rows));
  }
  key_gradients.append_sum("dk of parts", params, params.part_dk, params.dk, plan);
  key_gradients.append_sum("dv of parts", params, params.part_dv, params.dv, plan);
  if (!is_deterministic) {
    plan.push_back(rounding(accumulator, request, params));
    return plan;
  }
  const ListedGradients dq(instance("bwd-dq", kDqProducts), request, queries);
  dq.append_blocks(params, plan);
  if (query_rows > 0) {
    plan.back().writes.push_back(part_of("dq of parts", parts.dq, dense, dense.heads, query_rows));
  }
  dq.append_sum("dq of parts", params, params.part_dq, params.dq, plan);
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

/// A pattern's plan is that of the problem without it, over its lists.
std::uint64_t parts_bytes(Accumulator accumulator, const PlanRequest& request, Pass pass,
                          const SparseMask& mask) {
  DeviceWorkspace workspace;
  std::vector<int> rows;
  for (const KernelInstance* const instance : listed_instances(accumulator, request, pass)) {
    rows.push_back(rows_of_parts(mask, list_kind_of(*instance)).stored);
  }
  if (pass == Pass::kForward) {
    take_forward_parts(request.problem, rows[0], workspace);
    return workspace.bytes();
  }
  take_workspace(request.problem, request.is_deterministic, workspace);
  const GradientParts parts(request.problem, rows[0], request.is_deterministic ? rows[1] : 0,
                            workspace);
  return workspace.bytes();
}

/// Of a pattern that is run as strided views. Launches follow each other, and share what is theirs.
PassesWorkspace passes_workspace(Accumulator accumulator, const PlanRequest& request, Pass pass) {
  std::uint64_t most = 0;
  for (const Problem& view : problems_of_views(request.problem)) {
    most = std::max(most, plan_bytes(accumulator, request.of(view), pass));
  }
  return {request.problem, pass, most};
}

std::uint64_t varlen_bytes(Accumulator accumulator, const PlanRequest& request, Pass pass) {
  const int batch = request.lengths->batch;
  const bool is_forward = pass == Pass::kForward;
  const int products = is_forward                 ? kForwardProducts
                       : request.is_deterministic ? kKeyProducts
                                                  : kSummedProducts;
  const KernelInstance* const instance = find_instance(
      wish_of(accumulator, request, is_forward ? "fwd" : "bwd", products, BlockSource::kVarlen));
  if (instance == nullptr) return 0;  // it is not computed
  const WorkListKind kind{!is_forward, instance->block_rows};
  if (is_forward) return work_list_bytes(request.problem, batch, kind);
  DeviceWorkspace workspace;
  const VarlenWorkspace memory(request.problem, batch, kind, request.is_deterministic, workspace);
  return workspace.bytes();
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

const KernelInstance* find_relay(Accumulator accumulator, const PlanRequest& request) {
  return find_instance(wish_of(accumulator, request, "bwd", kSummedProducts), true);
}

GroupWalk walk_of_lists(const KernelInstance& instance, const SparseTileLists& lists,
                        int first_member, int end_member) {
  return group_walk(list_kind_of(instance).step * static_cast<int>(lists.all_tiles().size()),
                    first_member, end_member);
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
    const auto plan_view = [&](const PlanRequest& view, Workspace& own) {
      return plan(accumulator, view, own);
    };
    return plan_of_views(request, layout, workspace.take("views", layout.bytes), plan_view);
  }
  if (request.problem.sparse) {
    const Problem dense = without_pattern(request.problem);
    return is_forward ? sparse_forward(accumulator, request.of(dense), workspace)
                      : sparse_backward(accumulator, request.of(dense), workspace);
  }
  return is_forward ? dense_forward(accumulator, request)
                    : dense_backward(accumulator, request, workspace);
}

std::uint64_t plan_bytes(Accumulator accumulator, const PlanRequest& request, Pass pass) {
  if (request.lengths != nullptr) return varlen_bytes(accumulator, request, pass);
  if (has_mask_passes(request.problem)) return passes_workspace(accumulator, request, pass).bytes;
  if (request.problem.sparse) {
    const Problem dense = without_pattern(request.problem);
    return parts_bytes(accumulator, request.of(dense), pass, *request.problem.sparse);
  }
  return pass == Pass::kForward
             ? 0
             : backward_workspace_bytes_of_grid(request.problem, request.is_deterministic);
}

}  // namespace sparkbench::volta
