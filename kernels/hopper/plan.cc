#include "kernels/hopper/plan.h"

#include <algorithm>
#include <utility>

#include "kernels/base/ceil_divide.h"
#include "kernels/base/saturating.h"
#include "kernels/block_sparse/listed_steps.h"
#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/hopper/backward/params.h"
#include "kernels/hopper/dispatch.h"
#include "kernels/hopper/row_runs.h"
#include "kernels/strided/passes_plan.h"
#include "kernels/varlen/list_step.h"

namespace sparkbench::hopper {
namespace {

/// How many blocks a launch has for its items.
enum class Items {
  kOneABlock,  // items differ: the next goes to whichever SM is free
  kOfAllSms,   // as many as the GPU holds at once
};

using Extent = std::array<int, 3>;

/// Workspace of a backward pass for each query: the row statistics, and sums of dQ if it is added
/// up in memory.
struct QueryRows {
  /// For `positions` query positions, and `sum_columns` columns of dQ sums.
  QueryRows(const Problem& problem, int positions, int sum_columns, Workspace& workspace) {
    const std::uint64_t tiles = saturating_product(
        {static_cast<std::uint64_t>(problem.batch), static_cast<std::uint64_t>(problem.heads),
         static_cast<std::uint64_t>(ceil_divide(positions, StatisticsTile::kRows))});
    const auto take = [&](const char* name, std::uint64_t bytes) -> MemoryPart {
      return {name, workspace.take(name, bytes), bytes};
    };
    statistics = take("statistics", saturating_product({tiles, sizeof(StatisticsTile)}));
    if (sum_columns == 0) return;
    sums = take("dq_sums",
                saturating_product({tiles, StatisticsTile::kRows,
                                    static_cast<std::uint64_t>(sum_columns), sizeof(float)}));
  }

  void give_sums(int columns, BackwardParams& params) const {
    params.dq_sums = static_cast<float*>(const_cast<void*>(sums.first));
    params.sum_columns = columns;
  }
  StatisticsTile* first() const {
    return static_cast<StatisticsTile*>(const_cast<void*>(statistics.first));
  }

  MemoryPart statistics{}, sums{};
};

/// The launches of a pass, one after the other.
class Steps {
 public:
  explicit Steps(const PlanRequest& request) : request_(request) {}

  int blocks_at_once(const KernelInstance& instance) const {
    return request_.sms * instance.blocks_per_sm;
  }

  /// Over items; null where there are none.
  template <class Params>
  Step* add_items(const KernelInstance& instance, Params& params, const Extent& extent, Items items,
                  ItemOrder order = ItemOrder::kRowsFirst) {
    const auto [x, y, z] = extent;
    params.grid = {{x, y, z}, x * y * z, order};
    if (params.grid.blocks == 0) return nullptr;
    if (items == Items::kOfAllSms) {
      params.grid.blocks = std::min(params.grid.blocks, blocks_at_once(instance));
    }
    return add(instance, {params.grid.blocks, 1, 1}, ParamBytes(params));
  }
  /// Over a list of varlen sequences' blocks, longest first, for so many heads.
  template <class Params>
  Step* add_list(const KernelInstance& instance, Params& params, int heads,
                 const WorkListParams& list) {
    params.items = list.items;
    Step* const step =
        add_items(instance, params, packed_grid(heads, list.items_end), Items::kOfAllSms);
    if (step != nullptr) step->reads.push_back(items_of(list));
    return step;
  }
  void add_statistics(const BackwardParams& params, const QueryRows& rows) {
    if (Step* const step = add_rows("bwd-statistics", params)) step->writes = {rows.statistics};
  }
  void add_rounding(const BackwardParams& params, const QueryRows& rows) {
    if (Step* const step = add_rows("bwd-round-dq", params)) step->reads.push_back(rows.sums);
  }
  void add(Step step) { steps_.push_back(std::move(step)); }
  void add(std::vector<Step> steps) {
    for (Step& step : steps) steps_.push_back(std::move(step));
  }
  std::vector<Step> take() { return std::move(steps_); }

 private:
  Step* add(const KernelInstance& instance, const Extent& grid, ParamBytes params) {
    Step step;
    step.instance = &instance;
    step.grid = grid;
    step.params = std::move(params);
    steps_.push_back(std::move(step));
    return &steps_.back();
  }
  /// The rows of the workspace.
  Step* add_rows(std::string_view pass, const BackwardParams& params) {
    const Problem& problem = request_.problem;
    if (params.rows_per_head == 0 || problem.batch == 0) return nullptr;
    const KernelInstance& instance = instance_for(wish_of(problem, pass, 0));
    Step* const step =
        add(instance, {params.rows_per_head / instance.block_rows, problem.heads, problem.batch},
            ParamBytes(params));
    if (params.cu_seqlens_q != nullptr) {
      step->reads = {{"cu_seqlens_q", params.cu_seqlens_q,
                      (static_cast<std::uint64_t>(params.sequences) + 1) * sizeof(int)}};
    }
    return step;
  }

  const PlanRequest& request_;
  std::vector<Step> steps_;
};

template <class Params>
Items items_of(const Params& params) {
  return are_items_alike(params.mask) ? Items::kOfAllSms : Items::kOneABlock;
}

/// Reads the statistics, and adds to the sums of dQ where there are some.
void read_rows(const QueryRows& rows, Step& step) {
  step.reads.push_back(rows.statistics);
  if (rows.sums.bytes == 0) return;
  step.reads.push_back(rows.sums);
  step.writes.push_back(rows.sums);
}

std::vector<Step> sparse_forward(const PlanRequest& request, Workspace& workspace) {
  const Problem dense = without_pattern(request.problem);
  const PlanRequest of_dense = request.of(dense);
  Steps steps(of_dense);
  const ListedBlocks blocks(*listed_instances(of_dense, Pass::kForward)[0], of_dense,
                            *request.problem.sparse, request.first_list);
  const int rows = blocks.part_rows();
  const ForwardParts parts = take_forward_parts(dense, rows, workspace);
  if (request.lists == nullptr) return {};  // who asks for the workspace
  LaunchParams params = launch_params(dense, *request.forward, request.encode_map);
  params.sparse = blocks.at_launch();
  give_parts(params, dense, rows, parts.o, parts.lse);
  Step* const step = steps.add_items(blocks.instance(), params,
                                     {dense.heads, blocks.lists().blocks_of_head(), dense.batch},
                                     Items::kOfAllSms);
  if (step == nullptr) return {};
  read_lists(blocks.lists(), *step);
  blocks.write_splits("o of parts", parts.o, *step);
  if (rows > 0) step->writes.push_back({"lse of parts", parts.lse, part_lse_bytes(dense, rows)});
  steps.add(blocks.merge(params, parts));
  return steps.take();
}

std::vector<Step> sparse_backward(const PlanRequest& request, Workspace& workspace) {
  const Problem dense = without_pattern(request.problem);
  const PlanRequest of_dense = request.of(dense);
  Steps steps(of_dense);
  const auto instances = listed_instances(of_dense, Pass::kBackward);
  const SparseMask& mask = *request.problem.sparse;
  const ListedBlocks keys(*instances[0], of_dense, mask, request.first_list),
      queries(*instances[1], of_dense, mask, request.first_list + 1);
  const int key_rows = keys.part_rows(), query_rows = queries.part_rows();
  const QueryRows rows(dense, dense.seqlen_q, 0, workspace);
  const GradientParts parts(dense, key_rows, query_rows, workspace);
  if (request.lists == nullptr) return {};  // as above
  BackwardParams params =
      backward_params(dense, *request.backward, rows.first(), dense.seqlen_q, request.encode_map);
  give_key_parts(params, dense, key_rows, parts.dk, parts.dv);
  give_query_parts(params, dense, query_rows, parts.dq);
  params.sparse = queries.at_launch();
  steps.add_statistics(params, rows);
  const auto add_blocks = [&](const ListedBlocks& blocks) {
    params.sparse = blocks.at_launch();
    Step* const step = steps.add_items(
        blocks.instance(), params, {blocks.heads(), blocks.lists().blocks_of_head(), dense.batch},
        Items::kOfAllSms);
    if (step == nullptr) return step;
    read_rows(rows, *step);
    read_lists(blocks.lists(), *step);
    return step;
  };
  if (Step* const step = add_blocks(queries)) queries.write_splits("dq of parts", parts.dq, *step);
  steps.add(queries.sum("dq of parts", params.head_chunks, params.part_dq, params.dq));
  if (Step* const step = add_blocks(keys)) {
    keys.write_splits("dk of parts", parts.dk, *step);
    keys.write_splits("dv of parts", parts.dv, *step);
  }
  steps.add(keys.sum("dk of parts", params.head_chunks, params.part_dk, params.dk));
  steps.add(keys.sum("dv of parts", params.head_chunks, params.part_dv, params.dv));
  return steps.take();
}

/// A list of a varlen pass, in its workspace.
WorkListParams take_list(const PlanRequest& request, const KernelInstance& instance,
                         Workspace& workspace) {
  const WorkListKind kind = work_list_kind(instance);
  return work_list(
      request.problem, *request.lengths, kind,
      workspace.take("work list", work_list_bytes(request.problem, request.lengths->batch, kind)));
}

std::vector<Step> varlen_forward(const PlanRequest& request, Workspace& workspace) {
  const Problem& packed = request.problem;
  Steps steps(request);
  const KernelInstance& instance =
      instance_for(wish_of(packed, "fwd", kForwardProducts, BlockSource::kVarlen));
  LaunchParams params = launch_params(packed, *request.forward, request.encode_map);
  const WorkListParams list = take_list(request, instance, workspace);
  steps.add(list_steps(list, {}));
  steps.add_list(instance, params, packed.heads, list);
  return steps.take();
}

/// The workspace of a pattern that is run as strided views. Views run one after the other and share
/// one part of it.
PassesWorkspace views_workspace(const PlanRequest& request, Pass pass) {
  std::uint64_t most = 0;
  for (const Problem& view : problems_of_views(request.problem)) {
    most = std::max(most, workspace_bytes(plan, request.of(view), pass));
  }
  return {request.problem, pass, most};
}

}  // namespace

std::vector<const KernelInstance*> listed_instances(const PlanRequest& request, Pass pass) {
  const auto instance = [&](std::string_view of_pass, int products) {
    return &instance_for(wish_of(request.problem, of_pass, products, BlockSource::kBlockSparse));
  };
  if (pass == Pass::kForward) return {instance("fwd", kForwardProducts)};
  return {instance("bwd", kKeyProducts), instance("bwd-dq", kDqProducts)};
}

WorkListKind work_list_kind(const KernelInstance& instance) {
  return {instance.pass() == "bwd", instance.block_rows};
}

std::vector<Step> forward_plan(const PlanRequest& request, RowForm form) {
  const Problem& problem = request.problem;
  Steps steps(request);
  LaunchParams params = launch_params(problem, *request.forward, request.encode_map);
  const KernelInstance* const with_runs = form == RowForm::kRuns ? find_runs(problem) : nullptr;
  const KernelInstance& instance =
      with_runs != nullptr ? *with_runs : instance_for(wish_of(problem, "fwd", kForwardProducts));
  const int blocks = ceil_divide(problem.seqlen_q, instance.block_rows);
  if (instance.has_runs) {
    const int runs =
        runs_of_rows(blocks, problem.heads * problem.batch, steps.blocks_at_once(instance));
    steps.add_items(instance, params, {runs, problem.heads, problem.batch}, Items::kOfAllSms,
                    ItemOrder::kHeadsFirst);
  } else {
    steps.add_items(instance, params, {blocks, problem.heads, problem.batch}, items_of(params),
                    item_order(params.mask, problem.head_dim));
  }
  return steps.take();
}

std::vector<Step> backward_plan(const PlanRequest& request, DqForm dq, Workspace& workspace) {
  const Problem& problem = request.problem;
  Steps steps(request);
  const KernelInstance& of_keys =
      dq == DqForm::kCarried
          ? *find_carried(problem)
          : instance_for(
                wish_of(problem, "bwd", dq == DqForm::kSummed ? kSummedProducts : kKeyProducts));
  const int sum_columns = dq == DqForm::kSummed ? of_keys.head_dim : 0;
  const int positions = statistics_rows(problem.seqlen_q);
  const QueryRows rows(problem, positions, sum_columns, workspace);
  BackwardParams params =
      backward_params(problem, *request.backward, rows.first(), positions, request.encode_map);
  steps.add_statistics(params, rows);
  rows.give_sums(sum_columns, params);
  if (dq == DqForm::kSummed) steps.add(memset_step(rows.sums, 0));
  const auto add = [&](const KernelInstance& instance, const Extent& extent, Items items,
                       ItemOrder order) {
    Step* const step = steps.add_items(instance, params, extent, items, order);
    if (step != nullptr) read_rows(rows, *step);
  };
  if (dq == DqForm::kCarried) {
    const int tiles = tiles_of_keys(params.mask);
    const int runs = runs_of_head(tiles, problem.heads * problem.batch,
                                  std::min(tiles_of_band(params.mask), tiles) - 1,
                                  steps.blocks_at_once(of_keys));
    add(of_keys, {runs, problem.heads, problem.batch}, Items::kOfAllSms, ItemOrder::kHeadsFirst);
    return steps.take();
  }
  const Items items = items_of(params);
  const ItemOrder order = item_order(params.mask, problem.head_dim);
  add(of_keys,
      {ceil_divide(problem.seqlen_k, of_keys.block_rows), problem.key_heads(), problem.batch},
      items, order);
  if (dq == DqForm::kSummed) {
    steps.add_rounding(params, rows);
  } else {
    const KernelInstance& of_queries = instance_for(wish_of(problem, "bwd-dq", kDqProducts));
    add(of_queries,
        {ceil_divide(problem.seqlen_q, of_queries.block_rows), problem.heads, problem.batch}, items,
        order);
  }
  return steps.take();
}

std::vector<Step> varlen_backward_plan(const PlanRequest& request, DqForm dq,
                                       Workspace& workspace) {
  const Problem& packed = request.problem;
  const PackedLengths& lengths = *request.lengths;
  if (lengths.batch == 0) return {};
  Steps steps(request);
  const bool is_summed = dq == DqForm::kSummed;
  const auto instance = [&](std::string_view pass, int products) -> const KernelInstance& {
    return instance_for(wish_of(packed, pass, products, BlockSource::kVarlen));
  };
  const KernelInstance& of_keys = instance("bwd", is_summed ? kSummedProducts : kKeyProducts);
  const KernelInstance* const of_queries = is_summed ? nullptr : &instance("bwd-dq", kDqProducts);
  const WorkListParams queries =
      is_summed ? WorkListParams{} : take_list(request, *of_queries, workspace);
  const WorkListParams keys = take_list(request, of_keys, workspace);
  const int positions = packed_positions(packed.seqlen_q, lengths.batch);
  const int sum_columns = is_summed ? of_keys.head_dim : 0;
  const QueryRows rows(packed, positions, sum_columns, workspace);
  BackwardParams params =
      backward_params(packed, *request.backward, rows.first(), positions, request.encode_map);
  params.cu_seqlens_q = lengths.cu_seqlens_q;
  params.sequences = lengths.batch;
  steps.add_statistics(params, rows);
  rows.give_sums(sum_columns, params);
  if (is_summed) steps.add(memset_step(rows.sums, 0));
  steps.add(list_steps(queries, keys));
  if (Step* const step = steps.add_list(of_keys, params, packed.key_heads(), keys)) {
    read_rows(rows, *step);
  }
  if (is_summed) {
    steps.add_rounding(params, rows);
  } else if (Step* const step = steps.add_list(*of_queries, params, packed.heads, queries)) {
    read_rows(rows, *step);
  }
  return steps.take();
}

std::vector<Step> plan(const PlanRequest& request, Workspace& workspace) {
  const Problem& problem = request.problem;
  const bool is_forward = request.forward != nullptr;
  if (request.lengths != nullptr) {
    check_packed(problem, *request.lengths);
    if (is_forward) return varlen_forward(request, workspace);
    const DqForm dq = packed_dq_form(problem, request.lengths->batch, request.is_deterministic);
    return varlen_backward_plan(request, dq, workspace);
  }
  if (has_mask_passes(problem)) {
    const PassesWorkspace layout =
        views_workspace(request, is_forward ? Pass::kForward : Pass::kBackward);
    void* const memory = workspace.take("views", layout.bytes);
    if (request.lists == nullptr) return {};  // as above
    return plan_of_views(request, layout, memory, plan);
  }
  if (problem.sparse) {
    return is_forward ? sparse_forward(request, workspace) : sparse_backward(request, workspace);
  }
  return is_forward ? forward_plan(request, row_form(problem))
                    : backward_plan(request, dq_form(problem, request.is_deterministic), workspace);
}

}  // namespace sparkbench::hopper
