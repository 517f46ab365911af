#include "harness/model/measure/specimen.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <utility>

#include "harness/model/measure/instance_paths.h"
#include "harness/model/predict/block_tiles.h"
#include "harness/model/predict/listed_blocks.h"
#include "harness/model/predict/v100_constants.h"
#include "harness/model/sass/instruction_class.h"
#include "kernels/base/ceil_divide.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/tile/sparse_list.h"

namespace sparkbench {
namespace {

constexpr int kFewTiles = 4, kManyTiles = 20;
constexpr int kGroupHeads = kManyTiles / kFewTiles;
constexpr int kTilesBeforeDiagonal = 4;
/// With a dQ semaphore: full tiles that see a block of keys, between the partial ones on either
/// side.
constexpr int kFewTilesOfWindow = 1, kManyTilesOfWindow = 5;
/// More queries than a block prepares statistics of (kernels/volta/backward/relay_plan.h).
constexpr int kFewTilesOfHalves = 6, kManyTilesOfHalves = 10;
constexpr int kTilesBeforeParts = 4, kTilesOfParts = 8;
constexpr int kThreadsOfAWarpEach = 32 * kSchedulers;
constexpr float kDropout = 0.1f;

/// Whether a block owns keys and goes over queries.
bool owns_keys(const KernelInstance& instance) {
  return instance.pass() == "bwd" || instance.pass() == "spmm-transposed";
}

/// A padded instance is measured with columns that its tensors lack.
Problem problem_of(const KernelInstance& instance) {
  Problem problem{.head_dim = instance.is_padded() ? instance.head_dim - 8 : instance.head_dim};
  if (instance.has_dropout) problem.dropout_p = kDropout;
  return problem;
}

/// One block of `tiles` full tiles.
Problem full_problem(const KernelInstance& instance, int tiles) {
  Problem problem = problem_of(instance);
  const int columns = tiles * instance.step_columns;
  problem.seqlen_q = owns_keys(instance) ? columns : instance.block_rows;
  problem.seqlen_k = owns_keys(instance) ? instance.block_rows : columns;
  return problem;
}

/// Keys end with the first half of a block, which walks so many tiles of half steps.
Problem half_problem(const KernelInstance& instance, int tiles) {
  Problem problem = problem_of(instance);
  problem.seqlen_q = tiles * instance.step_columns;
  problem.seqlen_k = instance.block_rows + instance.block_rows / 2;
  return problem;
}

/// A key head that several query heads read, each with a few tiles.
Problem group_problem(const KernelInstance& instance) {
  Problem problem = full_problem(instance, kFewTiles);
  problem.heads = kGroupHeads;
  problem.heads_k = 1;
  return problem;
}

/// A block in the middle of a window, seen by so many full tiles of each head, between cut ones. On
/// either side the window begins or ends with a step, or `askew`, within one: so another is cut.
Problem window_problem(const KernelInstance& instance, int full_tiles, int heads, bool askew) {
  const int half_step = instance.step_columns / instance.teams / 2;
  const int cut_columns = 2 * instance.block_rows + (askew ? 4 * half_step : 0);
  const int columns = full_tiles * instance.step_columns + cut_columns;
  Problem problem = problem_of(instance);
  problem.heads = heads;
  problem.heads_k = 1;
  problem.seqlen_q = problem.seqlen_k = 2 * columns + instance.block_rows;
  const int after = askew ? half_step : 0, before = columns - instance.block_rows - 3 * after;
  problem.mask = MaskSpec::band(before, after);
  return problem;
}

/// sees(row, key)
template <class Sees>
Problem with_pattern(Problem problem, const char* name, Sees sees) {
  Term term;
  term.bits = bits_where(problem.seqlen_q, problem.seqlen_k, sees);
  SparseMask mask{.spec = name, .pattern = empty_pattern(problem.seqlen_q, problem.seqlen_k)};
  mask.pattern.unions = {{term}};
  problem.sparse = std::make_shared<const SparseMask>(std::move(mask));
  return problem;
}

/// One block of full tiles and as many cut ones, of each of which every scheduler has one part to
/// do, or all.
Problem parts_problem(const KernelInstance& instance, bool has_all) {
  Problem problem = full_problem(instance, kTilesBeforeParts + kTilesOfParts);
  const int full_keys = kTilesBeforeParts * instance.step_columns;
  const int rows =
      has_all ? instance.block_rows : instance.block_rows * kThreadsOfAWarpEach / instance.threads;
  const int keys = has_all || !instance.has_halves ? instance.step_columns : kSparseWordKeys;
  const auto sees = [=](int row, int key) {
    const int of_tile = key % instance.step_columns;
    const bool is_hidden = row == 0 && of_tile == 0;  // so that the tile is cut
    return key < full_keys || (row < rows && of_tile < keys && !is_hidden);
  };
  return with_pattern(std::move(problem), "parts", sees);
}

/// One block of full tiles and as many cut ones, which rows see as in a window as long as the
/// block: both its ends cross the tiles like stairs.
Problem stairs_problem(const KernelInstance& instance) {
  Problem problem = full_problem(instance, kTilesBeforeParts + kTilesOfParts);
  const int full_keys = kTilesBeforeParts * instance.step_columns, window = instance.block_rows;
  const auto sees = [=](int row, int key) {
    const int past = row + window - (key - full_keys) % (2 * window);
    return key < full_keys || (past >= 0 && past < window);
  };
  return with_pattern(std::move(problem), "stairs", sees);
}

/// Its first block meets the diagonal, and has kTilesBeforeDiagonal full tiles or a few more: the
/// only block of queries, or the first of keys.
Problem causal_problem(const KernelInstance& instance) {
  Problem problem = problem_of(instance);
  problem.mask = MaskSpec::causal();
  const int columns = kTilesBeforeDiagonal * instance.step_columns;
  problem.seqlen_k = instance.block_rows * (1 + ceil_divide(columns, instance.block_rows));
  problem.seqlen_q = owns_keys(instance) ? problem.seqlen_k : instance.block_rows;
  return problem;
}

/// What each block of rows or keys walks.
std::vector<BlockWork> works_of(const KernelInstance& instance, const Problem& problem) {
  if (problem.sparse) return tiles_of_pattern(instance, problem);
  return owns_keys(instance) ? tiles_of_key_blocks(instance, problem)
                             : tiles_of_query_blocks(instance, problem);
}

std::int64_t tensor_flop_of(const SassFunction& function, const BlockPaths& paths) {
  std::int64_t flop = 0;
  for (const WarpPath& path : paths) {
    for (const PathStep& step : path) {
      if (step.is_executed) flop += tensor_flop(function.instructions[step.instruction]);
    }
  }
  return flop;
}

/// What `tiles` tiles ask for.
std::int64_t flop_of_tiles(const KernelInstance& instance, std::int64_t tiles) {
  return tiles * instance.products * 2 * instance.block_rows * instance.step_columns *
         instance.head_dim;
}

/// Warps that see nothing of a cut tile may leave its products out.
void check_products(const SassFunction& function, const KernelInstance& instance,
                    const Specimen& specimen) {
  const std::int64_t found = tensor_flop_of(function, specimen.paths);
  const std::int64_t full_tiles = specimen.work.full_tiles, cut_tiles = specimen.work.cut_tiles;
  const std::int64_t most = flop_of_tiles(instance, full_tiles + cut_tiles);
  const std::int64_t least = flop_of_tiles(instance, full_tiles);
  if (most_parts(instance) > 1) {
    const std::int64_t parts =
        kSchedulers * (cut_tiles + specimen.work.more_parts) - specimen.work.idle_parts;
    const std::int64_t of_parts =
        flop_of_tiles(instance, parts) / (kSchedulers * most_parts(instance));
    if (found == least + of_parts) return;
  } else if (found <= most && (found > least || found == most)) {
    return;
  }
  throw std::runtime_error(fmt::format(
      "{}: a block of {} full and {} cut tiles multiplies {} FLOP in its machine code, "
      "not {} to {}",
      instance.id, specimen.work.full_tiles, specimen.work.cut_tiles, found, least, most));
}

/// The problem's `block`-th block of rows or keys.
Specimen specimen_of(const SassFunction& function, const KernelInstance& instance,
                     const Problem& problem, int block = 0) {
  const std::vector<BlockWork> works = works_of(instance, problem);
  const int launched = instance.relays_dq ? static_cast<int>(works.size()) - 1 - block : block;
  const bool has_list = instance.blocks != BlockSource::kDense;
  const std::array<int, 3> place = {launched, 0, 0}, in_list = {0, launched, 0};
  Specimen specimen{
      .work = works[static_cast<std::size_t>(block)],
      .paths = paths_of(function, instance, problem).of_block(has_list ? in_list : place).paths};
  check_products(function, instance, specimen);
  return specimen;
}

}  // namespace

bool has_tiles(const KernelInstance& instance) { return instance.products > 0; }

/// Each prepares statistics and rounds dQ of as many queries as in a long window.
Specimens specimens_of_relay(const SassFunction& function, const KernelInstance& instance) {
  const auto in_window = [&](int full_tiles, int heads, bool askew = false) {
    const Problem problem = window_problem(instance, full_tiles, heads, askew);
    return specimen_of(function, instance, problem, problem.seqlen_k / instance.block_rows / 2);
  };
  const auto of_halves = [&](int tiles) -> std::optional<Specimen> {
    if (!instance.halves_steps) return std::nullopt;
    return specimen_of(function, instance, half_problem(instance, tiles), 1);
  };
  const int more_cut_tiles = 2 / instance.teams;
  return {.few = in_window(kFewTilesOfWindow, 1),
          .many = in_window(kManyTilesOfWindow, 1),
          .cut = in_window(kFewTilesOfWindow, 1, true),
          .as_cut = in_window(kFewTilesOfWindow + more_cut_tiles, 1),
          .all_parts = std::nullopt,
          .stairs = std::nullopt,
          .few_halves = of_halves(kFewTilesOfHalves),
          .many_halves = of_halves(kManyTilesOfHalves),
          .group = in_window(kFewTilesOfWindow, 2)};
}

Specimens specimens_of(const SassFunction& function, const KernelInstance& instance) {
  if (instance.relays_dq) return specimens_of_relay(function, instance);
  const bool has_parts = most_parts(instance) > 1;
  Specimen cut = specimen_of(function, instance,
                             has_parts ? parts_problem(instance, false) : causal_problem(instance));
  const auto tiles = static_cast<int>(cut.work.full_tiles + cut.work.cut_tiles);
  std::optional<Specimen> all_parts, stairs;
  if (has_parts) {
    all_parts = specimen_of(function, instance, parts_problem(instance, true));
    stairs = specimen_of(function, instance, stairs_problem(instance));
  }
  std::optional<Specimen> group;
  if (owns_keys(instance)) group = specimen_of(function, instance, group_problem(instance));
  return {.few = specimen_of(function, instance, full_problem(instance, kFewTiles)),
          .many = specimen_of(function, instance, full_problem(instance, kManyTiles)),
          .cut = std::move(cut),
          .as_cut = specimen_of(function, instance, full_problem(instance, tiles)),
          .all_parts = std::move(all_parts),
          .stairs = std::move(stairs),
          .few_halves = std::nullopt,
          .many_halves = std::nullopt,
          .group = std::move(group)};
}

}  // namespace sparkbench
