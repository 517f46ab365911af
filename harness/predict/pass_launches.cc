#include "harness/predict/pass_launches.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "harness/predict/v100_constants.h"
#include "kernels/ceil_divide.h"
#include "kernels/half.h"
#include "kernels/registry.h"
#include "kernels/tile/forward_params.h"
#include "kernels/tile/row_statistics.h"
#include "kernels/volta/backward_workspace.h"

namespace sparkbench {
namespace {

constexpr double kLseBytes = sizeof(float);
constexpr double kStatisticsBytes = sizeof(RowStatistics);
/// A warp of a "bwd" has scores of so many keys, and reads the statistics of their queries; so many
/// keys' share of a query's dQ is added at once (kernels/volta/backward_config.h).
constexpr double kScoreKeys = 32, kKeysOfAnAddition = 64;

/// Whether the instance is that of a pass; a "bwd" that leaves dQ to another has 4 products.
bool serves(const KernelInstance& instance, const AttentionKernel& kernel, std::string_view pass,
            const Problem& problem) {
  const bool is_of_rows = instance.products == 0;
  return !instance.is_packed && instance.kernel() == kernel.name && instance.pass() == pass &&
         instance.serves(problem.head_dim) &&
         (is_of_rows || instance.has_dropout == (problem.dropout().threshold != 0)) &&
         static_cast<std::size_t>(instance.dynamic_shared_bytes) <= kV100SharedBytes;
}

/// As kernels/volta/dispatch.h has it: the first row that fits.
const KernelInstance& instance_of(const AttentionKernel& kernel, std::string_view pass,
                                  const Problem& problem, int products) {
  for (const KernelInstance& instance : kernel_instances()) {
    if (serves(instance, kernel, pass, problem) && instance.products == products) return instance;
  }
  throw std::invalid_argument("no instance of " + std::string(kernel.name) + " is a " +
                              std::string(pass) + " of the problem");
}

struct Extents {
  explicit Extents(const Problem& problem)
      : heads(static_cast<double>(problem.batch) * problem.heads),
        key_heads(static_cast<double>(problem.batch) * problem.key_heads()),
        queries(problem.seqlen_q),
        keys(problem.seqlen_k),
        workspace_rows(volta::workspace_rows(problem.seqlen_q)),
        half_row(static_cast<double>(sizeof(Half)) * problem.head_dim),
        fp32_row(static_cast<double>(sizeof(float)) * volta::sum_columns(problem)) {}

  double heads, key_heads;  // of all batch entries
  double queries, keys, workspace_rows;
  double half_row, fp32_row;  // bytes of a row of a tensor, and of the sums of dQ
};

/// `heads` of each batch entry.
BlockGrid grid_of(std::vector<BlockWork> of_head, const Problem& problem, int heads) {
  return {std::move(of_head),
          static_cast<std::uint64_t>(problem.batch) * static_cast<std::uint64_t>(heads)};
}

double columns_of_head(const std::vector<BlockWork>& blocks, int step) {
  double tiles = 0;
  for (const BlockWork& work : blocks) {
    tiles += static_cast<double>(work.full_tiles + work.cut_tiles);
  }
  return tiles * step;
}

/// Blocks of query rows. K and V come from HBM once for all heads that share them, and from L2 for
/// each block that sees them.
PassLaunch of_query_blocks(const KernelInstance& instance, std::vector<BlockWork> blocks,
                           const Problem& problem, double bytes_of_query) {
  const Extents of(problem);
  const double of_queries = of.queries * bytes_of_query;
  const double of_key = 2 * of.half_row;
  const double columns = columns_of_head(blocks, instance.step_columns);
  return {&instance, grid_of(std::move(blocks), problem, problem.heads),
          of.heads * of_queries + of.key_heads * of.keys * of_key,
          of.heads * (of_queries + columns * of_key)};
}

PassLaunch forward(const AttentionKernel& kernel, const Problem& problem) {
  const KernelInstance& instance = instance_of(kernel, "fwd", problem, 2);
  std::vector<BlockWork> blocks = tiles_of_query_blocks(instance, problem);
  if (launches_last_tile_first(problem.key_mask())) std::reverse(blocks.begin(), blocks.end());
  return of_query_blocks(instance, std::move(blocks), problem,
                         2 * Extents(problem).half_row + kLseBytes);  // q, o
}

/// Of a kernel that goes over rows, each once.
PassLaunch rows_launch(const AttentionKernel& kernel, std::string_view pass, const Problem& problem,
                       double bytes) {
  const KernelInstance& instance = instance_of(kernel, pass, problem, 0);
  const auto blocks = static_cast<std::size_t>(ceil_divide(problem.seqlen_q, instance.block_rows));
  return {&instance, grid_of(std::vector<BlockWork>(blocks), problem, problem.heads), bytes, bytes};
}

/// LSE and rowsum(dO * O) of each row.
PassLaunch statistics(const AttentionKernel& kernel, const Problem& problem) {
  const Extents of(problem);
  return rows_launch(kernel, "bwd-statistics", problem,
                     of.heads * (of.queries * (2 * of.half_row + kLseBytes) +
                                 of.workspace_rows * kStatisticsBytes));
}

double dq_sums_bytes(const Problem& problem) {
  const Extents of(problem);
  return of.heads * of.workspace_rows * of.fp32_row;
}

PassLaunch clear_sums(const Problem& problem) {
  PassLaunch launch;
  launch.hbm_bytes = launch.l2_bytes = dq_sums_bytes(problem);
  return launch;
}

PassLaunch key_gradients(const AttentionKernel& kernel, const Problem& problem,
                         bool is_deterministic) {
  const KernelInstance& instance = instance_of(kernel, "bwd", problem, is_deterministic ? 4 : 5);
  std::vector<BlockWork> blocks = tiles_of_key_blocks(instance, problem);
  const Extents of(problem);
  const double columns = columns_of_head(blocks, instance.step_columns);
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

PassLaunch dq_alone(const AttentionKernel& kernel, const Problem& problem) {
  const KernelInstance& instance = instance_of(kernel, "bwd-dq", problem, 3);
  return of_query_blocks(instance, tiles_of_query_blocks(instance, problem), problem,
                         3 * Extents(problem).half_row + kStatisticsBytes);  // q, d_o, dq
}

PassLaunch round_dq(const AttentionKernel& kernel, const Problem& problem) {
  const Extents of(problem);
  return rows_launch(kernel, "bwd-round-dq", problem,
                     of.heads * of.queries * (of.fp32_row + of.half_row));
}

/// Of teams that take turns in the steps of so many heads: a tile is a step of each.
BlockWork tiles_of_teams(const BlockWork& steps_of_head, int heads, int teams) {
  const auto in_turns = [=](std::int64_t of_head) { return (heads * of_head + teams - 1) / teams; };
  const std::int64_t tiles = in_turns(steps_of_head.full_tiles + steps_of_head.cut_tiles);
  const std::int64_t cut = std::min(tiles, in_turns(steps_of_head.cut_tiles));
  return {tiles - cut, cut, heads - 1};
}

int saturated(std::int64_t value) {
  return static_cast<int>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<int>::max()));
}

}  // namespace

BlockWork count_tiles(const Range& hull, const Range& core, int step) {
  if (hull.is_empty()) return {};
  const int first = hull.begin / step;
  const int end = ceil_divide(hull.end, step);
  const int first_full = std::max(first, ceil_divide(core.begin, step));
  const int end_full = std::min(end, core.end / step);
  const int full = core.is_empty() ? 0 : std::max(0, end_full - first_full);
  return {full, end - first - full};
}

std::vector<BlockWork> tiles_of_query_blocks(const KernelInstance& instance,
                                             const Problem& problem) {
  const KeyMask mask = problem.key_mask();
  std::vector<BlockWork> blocks;
  for (int row = 0; row < problem.seqlen_q; row += instance.block_rows) {
    const Range rows{row, row + instance.block_rows};
    blocks.push_back(
        count_tiles(mask.keys_of_any(rows), mask.keys_of_all(rows), instance.step_columns));
  }
  return blocks;
}

std::vector<BlockWork> tiles_of_key_blocks(const KernelInstance& instance, const Problem& problem) {
  const KeyMask mask = problem.key_mask();
  std::vector<BlockWork> blocks;
  for (int key = 0; key < problem.seqlen_k; key += instance.block_rows) {
    const int last = key + instance.block_rows - 1;
    const Range seen_by_some{
        mask.rows(key).begin,
        std::min(problem.seqlen_q, saturated(std::int64_t{last} - mask.begin_offset + 1))};
    // A step past the last query is no cut one: the kernel's test knows no such end.
    const Range seen_by_all{mask.rows(last).begin,
                            saturated(std::int64_t{key} - mask.begin_offset + 1)};
    const bool is_ragged = last >= problem.seqlen_k;
    const BlockWork steps = count_tiles(seen_by_some, is_ragged ? Range{0, 0} : seen_by_all,
                                        instance.step_columns / instance.teams);
    blocks.push_back(tiles_of_teams(steps, problem.group_size(), instance.teams));
  }
  return blocks;
}

std::vector<PassLaunch> launches_of_pass(const AttentionKernel& kernel, const Problem& problem,
                                         Pass pass, bool is_deterministic) {
  std::vector<PassLaunch> launches;
  if (pass != Pass::kBackward) launches.push_back(forward(kernel, problem));
  if (pass == Pass::kForward) return launches;
  launches.push_back(statistics(kernel, problem));
  if (!is_deterministic) launches.push_back(clear_sums(problem));
  launches.push_back(key_gradients(kernel, problem, is_deterministic));
  launches.push_back(is_deterministic ? dq_alone(kernel, problem) : round_dq(kernel, problem));
  return launches;
}

}  // namespace sparkbench
