#include "harness/model/predict/pass_launches.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "harness/model/predict/block_tiles.h"
#include "harness/model/predict/listed_blocks.h"
#include "harness/model/predict/v100_constants.h"
#include "kernels/base/ceil_divide.h"
#include "kernels/base/half.h"
#include "kernels/registry.h"
#include "kernels/strided/dry_request.h"
#include "kernels/strided/pattern_launches.h"
#include "kernels/tile/forward_params.h"
#include "kernels/tile/merge_parts.h"
#include "kernels/tile/row_statistics.h"
#include "kernels/varlen/work_lists.h"
#include "kernels/volta/backward/relay_plan.h"
#include "kernels/volta/backward/workspace.h"

namespace sparkbench {
namespace {

constexpr double kLseBytes = sizeof(float);
constexpr double kStatisticsBytes = sizeof(RowStatistics);
/// A warp of a "bwd" has scores of so many keys, and reads the statistics of their queries; so many
/// keys' share of a query's dQ is added at once (kernels/volta/backward/config.h).
constexpr double kScoreKeys = 32, kKeysOfAnAddition = 64;

struct Extents {
  explicit Extents(const Problem& problem)
      : heads(static_cast<double>(entries(problem)) * problem.heads),
        key_heads(static_cast<double>(entries(problem)) * problem.key_heads()),
        queries(problem.lengths ? problem.lengths->total_q() : problem.seqlen_q),
        keys(problem.lengths ? problem.lengths->total_k() : problem.seqlen_k),
        workspace_rows(rows_of_workspace(problem)),
        half_row(static_cast<double>(sizeof(Half)) * problem.head_dim),
        fp32_row(static_cast<double>(sizeof(float)) * volta::sum_columns(problem)) {}

  double heads, key_heads;  // of all batch entries; packed sequences are one
  double queries, keys, workspace_rows;
  double half_row, fp32_row;  // bytes of a row of a tensor, and of the sums of dQ

  static int entries(const Problem& problem) { return problem.lengths ? 1 : problem.batch; }

 private:
  static int rows_of_workspace(const Problem& problem) {
    return volta::workspace_rows(
        problem.lengths ? volta::workspace_problem(problem.packed(), problem.batch).seqlen_q
                        : problem.seqlen_q);
  }
};

/// `heads` of each batch entry; of a pattern `of_head` has all of them.
BlockGrid grid_of(std::vector<BlockWork> of_head, const Problem& problem, int heads) {
  if (problem.sparse) heads = 1;
  return {std::move(of_head),
          static_cast<std::uint64_t>(Extents::entries(problem)) * static_cast<std::uint64_t>(heads),
          problem.lengths != nullptr};
}

/// That a head's blocks walk; of a pattern in the mean of `heads`.
double columns_of_head(const std::vector<BlockWork>& blocks, const Problem& problem, int heads,
                       int step) {
  double tiles = 0;
  for (const BlockWork& work : blocks) {
    tiles += static_cast<double>(work.full_tiles + work.cut_tiles);
  }
  return tiles * step / (problem.sparse ? heads : 1);
}

/// Blocks of query rows. K and V come from HBM once for all heads that share them, and from L2 for
/// each block that sees them.
PassLaunch of_query_blocks(const KernelInstance& instance, std::vector<BlockWork> blocks,
                           const Problem& problem, double bytes_of_query) {
  const Extents of(problem);
  const double of_queries = of.queries * bytes_of_query;
  const double of_key = 2 * of.half_row;
  const double columns = columns_of_head(blocks, problem, problem.heads, instance.step_columns);
  return {&instance, grid_of(std::move(blocks), problem, problem.heads),
          of.heads * of_queries + of.key_heads * of.keys * of_key,
          of.heads * (of_queries + columns * of_key)};
}

std::vector<BlockWork> query_blocks(const KernelInstance& instance, const Problem& problem) {
  if (problem.sparse) return tiles_of_pattern(instance, problem);
  return problem.lengths ? tiles_of_listed_queries(instance, problem)
                         : tiles_of_query_blocks(instance, problem);
}

PassLaunch forward(const KernelInstance& instance, const Problem& problem) {
  std::vector<BlockWork> blocks = query_blocks(instance, problem);
  if (!problem.lengths && !problem.sparse && launches_last_tile_first(problem.key_mask())) {
    std::reverse(blocks.begin(), blocks.end());
  }
  return of_query_blocks(instance, std::move(blocks), problem,
                         2 * Extents(problem).half_row + kLseBytes);  // q, o
}

PassLaunch of_bytes(double bytes) {
  PassLaunch launch;
  launch.hbm_bytes = launch.l2_bytes = bytes;
  return launch;
}

/// A kernel that goes over rows, each once.
PassLaunch rows_launch(const KernelInstance& instance, const Problem& problem, double bytes) {
  if (problem.lengths) return of_bytes(bytes);
  const auto blocks = static_cast<std::size_t>(ceil_divide(problem.seqlen_q, instance.block_rows));
  return {&instance, grid_of(std::vector<BlockWork>(blocks), problem, problem.heads), bytes, bytes};
}

/// Lists the blocks of packed sequences: reads their offsets, writes the lists.
PassLaunch list_blocks(const Step& step, const Problem& problem) {
  const auto& lists = step.params.as<WorkListsParams>();
  double bytes = 0;
  for (int i = 0; i < step.grid[0]; ++i) {
    const WorkListKind kind{lists.list[i].is_of_keys, lists.list[i].block_rows};
    bytes += static_cast<double>(work_list_bytes(problem.packed(), problem.batch, kind)) +
             2 * sizeof(int) * (problem.batch + 1.0);
  }
  return of_bytes(bytes);
}

/// LSE and rowsum(dO * O) of each row.
PassLaunch statistics(const KernelInstance& instance, const Problem& problem) {
  const Extents of(problem);
  return rows_launch(instance, problem,
                     of.heads * (of.queries * (2 * of.half_row + kLseBytes) +
                                 of.workspace_rows * kStatisticsBytes));
}

double dq_sums_bytes(const Problem& problem) {
  const Extents of(problem);
  return of.heads * of.workspace_rows * of.fp32_row;
}

std::vector<BlockWork> key_blocks(const KernelInstance& instance, const Problem& problem) {
  if (problem.sparse) return tiles_of_pattern(instance, problem);
  return problem.lengths ? tiles_of_listed_keys(instance, problem)
                         : tiles_of_key_blocks(instance, problem);
}

PassLaunch key_gradients(const KernelInstance& instance, const Problem& problem) {
  const bool is_deterministic = instance.products == 4;  // another kernel forms dQ
  std::vector<BlockWork> blocks = key_blocks(instance, problem);
  const Extents of(problem);
  const double columns =
      columns_of_head(blocks, problem, problem.key_heads(), instance.step_columns);
  const double of_keys = of.keys * 4 * of.half_row;  // k, v, dk, dv
  const double of_query = 2 * of.half_row;           // q, d_o
  const double sums_added = instance.block_rows / kKeysOfAnAddition * of.fp32_row;
  const double added = is_deterministic ? 0 : sums_added;
  const double of_visit = of_query + instance.block_rows / kScoreKeys * kStatisticsBytes + added;
  const double hbm_of_sums = is_deterministic ? 0 : 2 * dq_sums_bytes(problem);
  return {
      &instance, grid_of(std::move(blocks), problem, problem.key_heads()),
      of.key_heads * of_keys + of.heads * of.queries * (of_query + kStatisticsBytes) + hbm_of_sums,
      of.key_heads * (of_keys + columns * of_visit)};
}

/// Whether the blocks with the dQ semaphore prepare the row statistics, without a launch before.
bool prepares_statistics(const Problem& problem) {
  return volta::prepares_statistics(problem.head_dim, problem.key_mask());
}

/// dK, dV and dQ with the dQ semaphore: the last keys first.
PassLaunch relayed_gradients(const KernelInstance& instance, const Problem& problem) {
  std::vector<BlockWork> blocks = key_blocks(instance, problem);
  std::reverse(blocks.begin(), blocks.end());
  const Extents of(problem);
  const double columns =
      columns_of_head(blocks, problem, problem.key_heads(), instance.step_columns);
  const double of_sums =
      static_cast<double>(volta::relay_sums_bytes(problem, volta::relay_slot_bits(problem)));
  const double of_keys = of.keys * 4 * of.half_row;  // k, v, dk, dv
  const double of_query = 2 * of.half_row;           // q, d_o
  const double of_visit = of_query + instance.block_rows / kScoreKeys * kStatisticsBytes +
                          instance.block_rows / kKeysOfAnAddition * of.fp32_row;
  const double of_rows = of.heads * of.queries;
  // Where the blocks prepare the statistics: o and lse, and d_o once more, from the L2 cache.
  // Without their looks for those of others, a hundredth of what they read there.
  const double prepared = prepares_statistics(problem) ? of_rows * (of.half_row + kLseBytes) : 0;
  const double read_again = prepares_statistics(problem) ? of_rows * of.half_row : 0;
  return {&instance, grid_of(std::move(blocks), problem, problem.key_heads()),
          of.key_heads * of_keys + of_rows * (of_query + kStatisticsBytes + of.half_row) +
              prepared + of_sums,
          of.key_heads * (of_keys + columns * of_visit) + of_rows * (of.fp32_row + of.half_row) +
              prepared + read_again};
}

PassLaunch dq_alone(const KernelInstance& instance, const Problem& problem) {
  return of_query_blocks(instance, query_blocks(instance, problem), problem,
                         3 * Extents(problem).half_row + kStatisticsBytes);  // q, d_o, dq
}

PassLaunch round_dq(const KernelInstance& instance, const Problem& problem) {
  const Extents of(problem);
  return rows_launch(instance, problem, of.heads * of.queries * (of.fp32_row + of.half_row));
}

/// Combines a pattern's split blocks, with so many bytes a row of each split and of the whole.
PassLaunch of_parts(const Step& step, int stored_rows, double bytes_of_row) {
  const double heads = static_cast<double>(step.grid[1]) * step.grid[2];
  const double shared_rows = static_cast<double>(step.grid[0]) * step.instance->block_rows;
  return of_bytes(heads * (shared_rows + stored_rows) * bytes_of_row);
}

/// Combines a pattern's strided views (kernels/tile/merge_passes.h), and splits LSE before them.
PassLaunch merge_views(const Problem& problem) {
  const Extents of(problem);
  const int passes = mask_pass_count(problem);
  const double of_outputs = passes > 1 ? (passes + 1) * of.half_row : 0.0;
  return of_bytes(of.heads * of.queries * ((passes + 1) * kLseBytes + of_outputs));
}
PassLaunch gather_lse(const Problem& problem) {
  const Extents of(problem);
  return of_bytes(2 * of.heads * of.queries * kLseBytes);
}
PassLaunch sum_views(const Step& step, const Problem& problem) {
  const auto& params = step.params.as<SumParams>();
  const double rows = static_cast<double>(problem.batch) * params.heads * params.seqlen;
  return of_bytes(rows * (params.parts + 2) * Extents(problem).half_row);
}

/// The launch of a step. `problem` is the step's: the whole one, or a strided view.
PassLaunch launch_of(const Step& step, const Problem& problem) {
  if (step.instance == nullptr) return of_bytes(static_cast<double>(step.zero.bytes));
  const KernelInstance& instance = *step.instance;
  const std::string_view pass = instance.pass();
  const double half_row = Extents(problem).half_row;
  if (pass == "fwd") return forward(instance, problem);
  if (pass == "bwd") {
    return instance.relays_dq ? relayed_gradients(instance, problem)
                              : key_gradients(instance, problem);
  }
  if (pass == "bwd-dq") return dq_alone(instance, problem);
  if (pass == "bwd-statistics") return statistics(instance, problem);
  if (pass == "bwd-round-dq") return round_dq(instance, problem);
  if (pass == "list-blocks") return list_blocks(step, problem);
  if (pass == "merge-parts") {
    return of_parts(step, step.params.as<MergePartsParams>().rows.part_rows, half_row + kLseBytes);
  }
  if (pass == "sum-parts") {
    return of_parts(step, step.params.as<SumPartsParams>().rows.part_rows, half_row);
  }
  if (pass == "merge-passes") return merge_views(problem);
  if (pass == "gather-lse") return gather_lse(problem);
  if (pass == "sum-gradients") return sum_views(step, problem);
  throw std::logic_error("no prediction is for " + std::string(instance.id));
}

/// The plan of a pass, over tensors that are not there.
std::vector<Step> plan_of(const AttentionKernel& kernel, const Problem& problem, Pass pass,
                          bool is_deterministic, const MaskTables* tables) {
  DryRequest dry(kernel, problem, pass, is_deterministic, kV100SharedBytes);
  dry.request.tables = tables;
  dry.request.table_memory = tables;  // only the address counts: nothing is launched
  DeviceWorkspace workspace;
  return kernel.plan(dry.request, workspace);
}

/// Whether the host launches nothing for it.
bool is_nothing(const PassLaunch& launch) {
  return launch.instance == nullptr ? launch.hbm_bytes == 0 : launch.grid.of_head.empty();
}

}  // namespace

std::vector<PassLaunch> launches_of_pass(const AttentionKernel& kernel, const Problem& problem,
                                         Pass pass, bool is_deterministic) {
  std::shared_ptr<const MaskTables> tables;
  if (kernel.tables != nullptr) tables = kernel.tables(problem, pass);
  std::vector<PassLaunch> launches;
  for (const Pass each : {Pass::kForward, Pass::kBackward}) {
    if (pass != each && pass != Pass::kForwardBackward) continue;
    const std::vector<Step> plan = plan_of(kernel, problem, each, is_deterministic, tables.get());
    if (tables != nullptr) {
      const std::vector<PassLaunch> chain = launches_of_chain(problem, *tables, plan);
      launches.insert(launches.end(), chain.begin(), chain.end());
      continue;
    }
    for (const Step& step : plan) {
      launches.push_back(launch_of(step, step.view ? *step.view : problem));
    }
  }
  std::erase_if(launches, is_nothing);
  return launches;
}

}  // namespace sparkbench
