// The plan of a pattern's pass.
#include <utility>

#include "kernels/block_sparse/merge_steps.h"
#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/tile/forward_params.h"
#include "kernels/volta/plan_steps.h"

namespace sparkbench::volta {
namespace {

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

}  // namespace

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

std::vector<Step> sparse_backward_plan(Accumulator accumulator, const PlanRequest& request,
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
    plan.push_back(rounding_step(accumulator, request, params));
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

std::uint64_t sparse_plan_bytes(Accumulator accumulator, const PlanRequest& request, Pass pass,
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

}  // namespace sparkbench::volta
