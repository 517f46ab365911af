#include "kernels/hopper/plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/merge_steps.h"
#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/hopper/backward/round_dq.h"
#include "kernels/hopper/backward/row_statistics.h"
#include "kernels/hopper/backward_workspace.h"
#include "kernels/hopper/instance_table.h"
#include "kernels/hopper/packed_workspace.h"
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

/// The launches of a pass, one after the other.
class Steps {
 public:
  explicit Steps(const PlanRequest& request) : request_(request) {}

  int blocks_at_once(const KernelInstance& instance) const {
    return request_.sms * instance.blocks_per_sm;
  }

  /// Over items; nothing where there are none.
  template <class Params>
  void add_items(const KernelInstance& instance, Params& params, const Extent& extent, Items items,
                 ItemOrder order = ItemOrder::kRowsFirst) {
    const auto [x, y, z] = extent;
    params.grid = {{x, y, z}, x * y * z, order};
    if (params.grid.blocks == 0) return;
    if (items == Items::kOfAllSms) {
      params.grid.blocks = std::min(params.grid.blocks, blocks_at_once(instance));
    }
    add(instance, {params.grid.blocks, 1, 1}, ParamBytes(params));
  }
  /// Over a list of varlen sequences' blocks, longest first, for so many heads.
  template <class Params>
  void add_list(const KernelInstance& instance, Params& params, int heads,
                const WorkListParams& list) {
    params.items = list.items;
    add_items(instance, params, packed_grid(heads, list.items_end), Items::kOfAllSms);
  }
  /// The rows of the workspace, so many a block.
  Step* add_rows(std::string_view id, const BackwardParams& params, int rows_of_block) {
    const Problem& problem = request_.problem;
    if (params.rows_per_head == 0 || problem.batch == 0) return nullptr;
    add(instance_named(id), {params.rows_per_head / rows_of_block, problem.heads, problem.batch},
        ParamBytes(params));
    return &steps_.back();
  }
  void add_statistics(const BackwardParams& params) {
    add_rows("hopper-fp32acc/bwd-statistics", params, StatisticsConfig::kBlockM);
  }
  void add_rounding(const BackwardParams& params, int columns) {
    if (Step* const step = add_rows("hopper-fp32acc/bwd-round-dq", params, kWarpgroupRows)) {
      step->second_param = ParamBytes(columns);
    }
  }
  void add(Step step) { steps_.push_back(std::move(step)); }
  void add(std::vector<Step> steps) {
    for (Step& step : steps) steps_.push_back(std::move(step));
  }
  std::vector<Step> take() { return std::move(steps_); }

 private:
  void add(const KernelInstance& instance, const Extent& grid, ParamBytes params) {
    Step step;
    step.instance = &instance;
    step.grid = grid;
    step.params = std::move(params);
    steps_.push_back(std::move(step));
  }

  const PlanRequest& request_;
  std::vector<Step> steps_;
};

template <class Params>
Items items_of(const Params& params) {
  return are_items_alike(params.mask) ? Items::kOfAllSms : Items::kOneABlock;
}

Step zero_sums(const BackwardParams& params, std::uint64_t bytes) {
  return memset_step({"dq_sums", params.dq_sums, bytes}, 0);
}

std::vector<Step> sparse_forward(const PlanRequest& request, const Problem& dense,
                                 Workspace& workspace) {
  Steps steps(request);
  const SparseTileLists& lists = (*request.lists)[request.first_list];
  const int part_rows = lists.part_rows();
  const ForwardParts parts = take_forward_parts(dense, part_rows, workspace);
  LaunchParams params = launch_params(dense, *request.forward, request.encode_map);
  params.sparse = request.lists->at(request.first_list, request.list_memory);
  give_parts(params, dense, part_rows, parts.o, parts.lse);
  visit_forward<Blocks::kSparse>(dense, [&](auto /*row*/, auto id) {
    const KernelInstance& instance = instance_named(id);
    steps.add_items(instance, params, {dense.heads, lists.blocks_of_head(), dense.batch},
                    Items::kOfAllSms);
    if (part_rows == 0) return;
    const int rows = static_cast<int>(lists.splits().size()) * instance.block_rows;
    steps.add(merge_parts_step(
        merge_parts_params(params, dense.seqlen_q,
                           request.lists->splits_at(request.first_list, request.list_memory),
                           instance.block_rows),
        {rows, dense.heads, dense.batch}));
  });
  return steps.take();
}

std::vector<Step> sparse_backward(const PlanRequest& request, const Problem& dense,
                                  Workspace& workspace) {
  Steps steps(request);
  const int keys = request.first_list, queries = request.first_list + 1;
  const auto rows_of = [&](int list) { return (*request.lists)[list].part_rows(); };
  const BackwardWorkspace places(dense, dense.seqlen_q, 0, rows_of(keys), rows_of(queries));
  void* const memory = workspace.take("backward", places.bytes);
  BackwardParams params = backward_params(dense, *request.backward,
                                          in_workspace<StatisticsTile>(memory, places.statistics),
                                          dense.seqlen_q, request.encode_map);
  give_key_parts(params, dense, rows_of(keys), in_workspace<Half>(memory, places.dk),
                 in_workspace<Half>(memory, places.dv));
  give_query_parts(params, dense, rows_of(queries), in_workspace<Half>(memory, places.dq));
  params.sparse = request.lists->at(queries, request.list_memory);
  steps.add_statistics(params);
  const auto add_blocks = [&](const KernelInstance& instance, int list, int heads) {
    params.sparse = request.lists->at(list, request.list_memory);
    steps.add_items(instance, params, {heads, (*request.lists)[list].blocks_of_head(), dense.batch},
                    Items::kOfAllSms);
  };
  const auto add_sum = [&](const KernelInstance& instance, int list, int heads, int seqlen,
                           const ChunkedView<Half>& part, const ChunkedView<Half>& whole) {
    if (rows_of(list) == 0) return;
    const SplitRows rows{request.lists->splits_at(list, request.list_memory), instance.block_rows,
                         seqlen, rows_of(list)};
    const int shared =
        static_cast<int>((*request.lists)[list].splits().size()) * instance.block_rows;
    steps.add(sum_parts_step(sum_parts_params(rows, params.head_chunks, part, whole),
                             {shared, heads, dense.batch}));
  };
  visit_backward_dq<Blocks::kSparse>(dense, [&](auto /*row*/, auto id) {
    const KernelInstance& instance = instance_named(id);
    add_blocks(instance, queries, dense.heads);
    add_sum(instance, queries, dense.heads, dense.seqlen_q, params.part_dq, params.dq);
  });
  visit_backward<Blocks::kSparse>(dense, [&](auto /*row*/, auto id) {
    const KernelInstance& instance = instance_named(id);
    add_blocks(instance, keys, dense.key_heads());
    add_sum(instance, keys, dense.key_heads(), dense.seqlen_k, params.part_dk, params.dk);
    add_sum(instance, keys, dense.key_heads(), dense.seqlen_k, params.part_dv, params.dv);
  });
  return steps.take();
}

std::vector<Step> varlen_forward(const PlanRequest& request, Workspace& workspace) {
  const Problem& packed = request.problem;
  Steps steps(request);
  LaunchParams params = launch_params(packed, *request.forward, request.encode_map);
  visit_forward<Blocks::kPacked>(packed, [&](auto row, auto id) {
    const WorkListKind kind = kPackedQueries<decltype(row)>;
    void* const memory =
        workspace.take("work list", work_list_bytes(packed, request.lengths->batch, kind));
    const WorkListParams list = work_list(packed, *request.lengths, kind, memory);
    steps.add(list_steps(list, {}));
    steps.add_list(instance_named(id), params, packed.heads, list);
  });
  return steps.take();
}

std::uint64_t bytes_of_problem(const Problem& problem, Pass pass, bool is_deterministic) {
  if (!problem.sparse) {
    return pass == Pass::kForward
               ? 0
               : dense_workspace(problem, dq_form(problem, is_deterministic)).bytes;
  }
  std::vector<int> rows;
  for (const SparseListKind& kind : list_kinds(problem, pass)) {
    rows.push_back(rows_of_parts(*problem.sparse, kind).stored);
  }
  const Problem dense = without_pattern(problem);
  if (pass != Pass::kForward) {
    return BackwardWorkspace(dense, problem.seqlen_q, 0, rows[0], rows[1]).bytes;
  }
  DeviceWorkspace workspace;
  take_forward_parts(dense, rows[0], workspace);
  return workspace.bytes();
}

/// The workspace of a pattern that is run as strided views. Views run one after the other and share
/// one part of it.
PassesWorkspace views_workspace(const PlanRequest& request, Pass pass) {
  std::uint64_t most = 0;
  for (const Problem& view : problems_of_views(request.problem)) {
    most = std::max(most, bytes_of_problem(view, pass, request.is_deterministic));
  }
  return {request.problem, pass, most};
}

}  // namespace

std::vector<SparseListKind> list_kinds(const Problem& problem, Pass pass) {
  std::vector<SparseListKind> kinds;
  if (pass == Pass::kForward) {
    visit_forward<Blocks::kSparse>(
        problem, [&](auto row, auto /*id*/) { kinds.push_back(kSparseQueries<decltype(row)>); });
  } else {
    visit_backward<Blocks::kSparse>(
        problem, [&](auto row, auto /*id*/) { kinds.push_back(kSparseKeys<decltype(row)>); });
    visit_backward_dq<Blocks::kSparse>(
        problem, [&](auto row, auto /*id*/) { kinds.push_back(kSparseQueries<decltype(row)>); });
  }
  return kinds;
}

std::vector<Step> forward_plan(const PlanRequest& request, RowForm form) {
  const Problem& problem = request.problem;
  Steps steps(request);
  LaunchParams params = launch_params(problem, *request.forward, request.encode_map);
  visit_forward(problem, form, [&](auto row, auto id) {
    const KernelInstance& instance = instance_named(id);
    const int blocks = ceil_divide(problem.seqlen_q, instance.block_rows);
    if constexpr (decltype(row)::kHasRuns) {
      const int runs =
          runs_of_rows(blocks, problem.heads * problem.batch, steps.blocks_at_once(instance));
      steps.add_items(instance, params, {runs, problem.heads, problem.batch}, Items::kOfAllSms,
                      ItemOrder::kHeadsFirst);
    } else {
      steps.add_items(instance, params, {blocks, problem.heads, problem.batch}, items_of(params),
                      item_order(params.mask, problem.head_dim));
    }
  });
  return steps.take();
}

std::vector<Step> backward_plan(const PlanRequest& request, DqForm dq, Workspace& workspace) {
  const Problem& problem = request.problem;
  Steps steps(request);
  const BackwardWorkspace places = dense_workspace(problem, dq);
  void* const memory = workspace.take("backward", places.bytes);
  BackwardParams params = backward_params(problem, *request.backward,
                                          in_workspace<StatisticsTile>(memory, places.statistics),
                                          statistics_rows(problem.seqlen_q), request.encode_map);
  steps.add_statistics(params);
  const Items items = items_of(params);
  const ItemOrder order = item_order(params.mask, problem.head_dim);
  const auto add_keys = [&](const KernelInstance& instance) {
    steps.add_items(
        instance, params,
        {ceil_divide(problem.seqlen_k, instance.block_rows), problem.key_heads(), problem.batch},
        items, order);
  };
  if (dq == DqForm::kSummed) {
    params.dq_sums = in_workspace<float>(memory, places.dq_sums);
    steps.add(zero_sums(params, places.sums_bytes));
    visit_backward_sums<Blocks::kDense>(problem, [&](auto /*row*/, auto id) {
      const KernelInstance& instance = instance_named(id);
      add_keys(instance);
      steps.add_rounding(params, instance.head_dim);
    });
    return steps.take();
  }
  if (dq == DqForm::kCarried) {
    visit_backward_carried(problem, [&](auto /*row*/, auto id) {
      const KernelInstance& instance = instance_named(id);
      const int tiles = tiles_of_keys(params.mask);
      const int runs = runs_of_head(tiles, problem.heads * problem.batch,
                                    std::min(tiles_of_band(params.mask), tiles) - 1,
                                    steps.blocks_at_once(instance));
      steps.add_items(instance, params, {runs, problem.heads, problem.batch}, Items::kOfAllSms,
                      ItemOrder::kHeadsFirst);
    });
    return steps.take();
  }
  visit_backward<Blocks::kDense>(problem,
                                 [&](auto /*row*/, auto id) { add_keys(instance_named(id)); });
  visit_backward_dq<Blocks::kDense>(problem, [&](auto /*row*/, auto id) {
    const KernelInstance& instance = instance_named(id);
    steps.add_items(
        instance, params,
        {ceil_divide(problem.seqlen_q, instance.block_rows), problem.heads, problem.batch}, items,
        order);
  });
  return steps.take();
}

std::vector<Step> varlen_backward_plan(const PlanRequest& request, DqForm dq,
                                       Workspace& workspace) {
  const Problem& packed = request.problem;
  const PackedLengths& lengths = *request.lengths;
  Steps steps(request);
  if (lengths.batch == 0) return {};
  const PackedBackwardWorkspace places(packed, lengths.batch, dq);
  void* const memory = workspace.take("backward", places.bytes);
  BackwardParams params = packed_backward_params(
      packed, lengths, *request.backward, in_workspace<StatisticsTile>(memory, places.statistics),
      request.encode_map);
  steps.add_statistics(params);
  const auto list = [&](const WorkListKind& kind, std::uint64_t place) {
    return work_list(packed, lengths, kind, in_workspace<unsigned char>(memory, place));
  };
  if (dq == DqForm::kSummed) {
    params.dq_sums = in_workspace<float>(memory, places.dq_sums);
    steps.add(zero_sums(params, places.sums_bytes));
    visit_backward_sums<Blocks::kPacked>(packed, [&](auto row, auto id) {
      const KernelInstance& instance = instance_named(id);
      const WorkListParams keys = list(kPackedKeys<decltype(row)>, places.keys);
      steps.add(list_steps(keys, {}));
      steps.add_list(instance, params, packed.key_heads(), keys);
      steps.add_rounding(params, instance.head_dim);
    });
    return steps.take();
  }
  visit_backward_dq<Blocks::kPacked>(packed, [&](auto query_row, auto query_id) {
    visit_backward<Blocks::kPacked>(packed, [&](auto key_row, auto key_id) {
      const WorkListParams queries = list(kPackedQueries<decltype(query_row)>, places.queries),
                           keys = list(kPackedKeys<decltype(key_row)>, places.keys);
      steps.add(list_steps(queries, keys));
      steps.add_list(instance_named(key_id), params, packed.key_heads(), keys);
      steps.add_list(instance_named(query_id), params, packed.heads, queries);
    });
  });
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
    return plan_of_views(request, layout, workspace.take("views", layout.bytes), plan);
  }
  if (problem.sparse) {
    const Problem dense = without_pattern(problem);
    return is_forward ? sparse_forward(request, dense, workspace)
                      : sparse_backward(request, dense, workspace);
  }
  return is_forward ? forward_plan(request, row_form(problem))
                    : backward_plan(request, dq_form(problem, request.is_deterministic), workspace);
}

std::uint64_t plan_bytes(const PlanRequest& request, Pass pass) {
  const Problem& problem = request.problem;
  if (request.lengths != nullptr) {
    const int batch = request.lengths->batch;
    if (pass == Pass::kForward) return packed_forward_bytes(problem, batch);
    const DqForm dq = packed_dq_form(problem, batch, request.is_deterministic);
    return PackedBackwardWorkspace(problem, batch, dq).bytes;
  }
  return has_mask_passes(problem) ? views_workspace(request, pass).bytes
                                  : bytes_of_problem(problem, pass, request.is_deterministic);
}

}  // namespace sparkbench::hopper
