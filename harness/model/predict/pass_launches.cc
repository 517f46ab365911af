#include "harness/model/predict/pass_launches.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "harness/model/predict/block_tiles.h"
#include "harness/model/predict/listed_blocks.h"
#include "harness/model/predict/v100_constants.h"
#include "kernels/base/ceil_divide.h"
#include "kernels/base/half.h"
#include "kernels/block_sparse/sparse_lists.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/strided/pattern_launches.h"
#include "kernels/tile/forward_params.h"
#include "kernels/tile/row_statistics.h"
#include "kernels/varlen/work_lists.h"
#include "kernels/volta/backward/relay_plan.h"
#include "kernels/volta/backward/workspace.h"
#include "kernels/volta/packed_lists.h"
#include "kernels/volta/short_blocks.h"

namespace sparkbench {
namespace {

constexpr double kLseBytes = sizeof(float);
constexpr double kStatisticsBytes = sizeof(RowStatistics);
/// A warp of a "bwd" has scores of so many keys, and reads the statistics of their queries; so many
/// keys' share of a query's dQ is added at once (kernels/volta/backward/config.h).
constexpr double kScoreKeys = 32, kKeysOfAnAddition = 64;

/// Whether the instance is that of a pass; a "bwd" that leaves dQ to another has 4 products.
bool serves(const KernelInstance& instance, const AttentionKernel& kernel, std::string_view pass,
            const Problem& problem) {
  const bool is_of_rows = instance.products == 0;
  return instance.kernel() == kernel.name && instance.pass() == pass &&
         instance.is_packed == (problem.lengths != nullptr) &&
         (is_of_rows || instance.is_sparse == (problem.sparse != nullptr)) &&
         instance.serves(problem.head_dim) &&
         volta::wants_blocks(instance.short_window, instance.head_dim, problem) &&
         (is_of_rows || instance.has_dropout == (problem.dropout().threshold != 0)) &&
         static_cast<std::size_t>(instance.dynamic_shared_bytes) <= kV100SharedBytes;
}

/// A pass in the making.
struct PassOf {
  const AttentionKernel& kernel;
  const Problem& problem;
  std::span<const KernelInstance> instances;

  /// As kernels/volta/dispatch.h has it: the first row that fits, of those that relay dQ, or not.
  const KernelInstance& instance(std::string_view pass, int products,
                                 bool relays_dq = false) const {
    for (const KernelInstance& each : instances) {
      if (serves(each, kernel, pass, problem) && each.products == products &&
          each.relays_dq == relays_dq) {
        return each;
      }
    }
    throw NoInstance("no instance of " + std::string(kernel.name) + " is a " + std::string(pass) +
                     " of " +
                     (problem.lengths  ? "packed sequences"
                      : problem.sparse ? "patterns"
                                       : "the problem"));
  }
};

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

PassLaunch forward(const PassOf& of) {
  const Problem& problem = of.problem;
  const KernelInstance& instance = of.instance("fwd", 2);
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
PassLaunch rows_launch(const PassOf& of, std::string_view pass, double bytes) {
  const Problem& problem = of.problem;
  if (problem.lengths) return of_bytes(bytes);
  const KernelInstance& instance = of.instance(pass, 0);
  const auto blocks = static_cast<std::size_t>(ceil_divide(problem.seqlen_q, instance.block_rows));
  return {&instance, grid_of(std::vector<BlockWork>(blocks), problem, problem.heads), bytes, bytes};
}

/// Lists the blocks of packed sequences: reads their offsets, writes the lists.
PassLaunch list_blocks(const PassOf& of, const std::vector<WorkListKind>& kinds) {
  const Problem packed = of.problem.packed();
  double bytes = 0;
  for (const WorkListKind& kind : kinds) {
    const std::uint64_t of_list = work_list_bytes(packed, of.problem.batch, kind);
    if (of_list == 0) continue;
    bytes += static_cast<double>(of_list) + 2 * sizeof(int) * (of.problem.batch + 1.0);
  }
  return of_bytes(bytes);
}

/// LSE and rowsum(dO * O) of each row.
PassLaunch statistics(const PassOf& pass) {
  const Extents of(pass.problem);
  return rows_launch(pass, "bwd-statistics",
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

PassLaunch key_gradients(const PassOf& pass, bool is_deterministic) {
  const Problem& problem = pass.problem;
  const KernelInstance& instance = pass.instance("bwd", is_deterministic ? 4 : 5);
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

/// dK, dV and dQ, in relay: the last keys first.
PassLaunch relayed_gradients(const PassOf& pass) {
  const Problem& problem = pass.problem;
  const KernelInstance& instance = pass.instance("bwd", 5, true);
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

PassLaunch dq_alone(const PassOf& of) {
  const KernelInstance& instance = of.instance("bwd-dq", 3);
  return of_query_blocks(instance, query_blocks(instance, of.problem), of.problem,
                         3 * Extents(of.problem).half_row + kStatisticsBytes);  // q, d_o, dq
}

/// Combines a pattern's split blocks, with so many bytes a row of each split and of the whole:
/// nothing without splits.
PassLaunch of_parts(const PassOf& of, const KernelInstance& instance, double heads,
                    double bytes_of_row) {
  if (!of.problem.sparse) return of_bytes(0);
  const RowsOfParts rows = rows_of_parts(*of.problem.sparse, list_kind_of(instance));
  return of_bytes(heads * (rows.shared + rows.stored) * bytes_of_row);
}

PassLaunch round_dq(const PassOf& pass) {
  const Extents of(pass.problem);
  return rows_launch(pass, "bwd-round-dq", of.heads * of.queries * (of.fp32_row + of.half_row));
}

void append_forward(const PassOf& of, std::vector<PassLaunch>& launches) {
  PassLaunch main = forward(of);
  if (of.problem.lengths) {
    launches.push_back(list_blocks(of, {{false, main.instance->block_rows}}));
  }
  const KernelInstance& instance = *main.instance;
  launches.push_back(std::move(main));
  const Extents extents(of.problem);
  launches.push_back(of_parts(of, instance, extents.heads, extents.half_row + kLseBytes));
}

void append_backward(const PassOf& of, bool is_deterministic, std::vector<PassLaunch>& launches) {
  if (volta::has_relay(of.problem, is_deterministic)) {
    PassLaunch main = relayed_gradients(of);
    const bool blocks_prepare = prepares_statistics(of.problem);
    const Extents extents(of.problem);
    launches.push_back(blocks_prepare
                           ? of_bytes(extents.heads * extents.workspace_rows * kStatisticsBytes)
                           : statistics(of));
    launches.push_back(of_bytes(static_cast<double>(volta::relay_turns_bytes(of.problem))));
    launches.push_back(std::move(main));
    return;
  }
  PassLaunch main = key_gradients(of, is_deterministic);
  if (of.problem.lengths) {
    launches.push_back(list_blocks(of, {volta::kQueryList, {true, main.instance->block_rows}}));
  }
  launches.push_back(statistics(of));
  if (!is_deterministic) launches.push_back(of_bytes(dq_sums_bytes(of.problem)));
  const KernelInstance& instance = *main.instance;
  launches.push_back(std::move(main));
  const Extents extents(of.problem);
  const double of_row = extents.half_row;
  for (int i = 0; i < 2; ++i) {  // dK, dV
    launches.push_back(of_parts(of, instance, extents.key_heads, of_row));
  }
  launches.push_back(is_deterministic ? dq_alone(of) : round_dq(of));
  if (!is_deterministic) return;
  const KernelInstance& of_dq = *launches.back().instance;
  launches.push_back(of_parts(of, of_dq, extents.heads, of_row));
}

/// A pattern that runs as strided views: each view's launches, and those that go over the rows
/// before or after them (kernels/tile/merge_passes.h).
void append_passes_forward(const PassOf& of, std::vector<PassLaunch>& launches) {
  const Extents extents(of.problem);
  const int passes = mask_pass_count(of.problem);
  for (int pass = 0; pass < passes; ++pass) {
    for (const ViewLaunch& view : view_launches(of.problem, pass, TokenHeads::kAdjacent)) {
      append_forward({of.kernel, view.problem, of.instances}, launches);
    }
  }
  const double of_outputs = passes > 1 ? (passes + 1) * extents.half_row : 0.0;
  launches.push_back(
      of_bytes(extents.heads * extents.queries * ((passes + 1) * kLseBytes + of_outputs)));
}

void append_passes_backward(const PassOf& of, bool is_deterministic,
                            std::vector<PassLaunch>& launches) {
  const Extents extents(of.problem);
  const int passes = mask_pass_count(of.problem);
  for (int pass = 0; pass < passes; ++pass) {
    launches.push_back(of_bytes(2 * extents.heads * extents.queries * kLseBytes));
    for (const ViewLaunch& view : view_launches(of.problem, pass, TokenHeads::kAdjacent)) {
      append_backward({of.kernel, view.problem, of.instances}, is_deterministic, launches);
    }
  }
  if (passes == 1) return;
  const double of_row = (passes + 1) * extents.half_row;
  launches.push_back(of_bytes(extents.heads * extents.queries * of_row));  // dQ
  for (int i = 0; i < 2; ++i) {                                            // dK, dV
    launches.push_back(of_bytes(extents.key_heads * extents.keys * of_row));
  }
}

/// Which no host launches.
bool is_nothing(const PassLaunch& launch) {
  return launch.instance == nullptr ? launch.hbm_bytes == 0 : launch.grid.of_head.empty();
}

}  // namespace

std::vector<PassLaunch> launches_of_pass(const AttentionKernel& kernel, const Problem& problem,
                                         Pass pass, bool is_deterministic,
                                         std::span<const KernelInstance> instances) {
  if (is_chain(kernel)) return launches_of_chain(problem, pass, instances);
  const PassOf of{kernel, problem, instances};
  std::vector<PassLaunch> launches;
  const bool has_passes = has_mask_passes(problem);
  if (pass != Pass::kBackward) {
    has_passes ? append_passes_forward(of, launches) : append_forward(of, launches);
  }
  if (pass != Pass::kForward) {
    has_passes ? append_passes_backward(of, is_deterministic, launches)
               : append_backward(of, is_deterministic, launches);
  }
  std::erase_if(launches, is_nothing);
  return launches;
}

}  // namespace sparkbench
