#include "kernels/hopper/emulated.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/listed_emulated.h"
#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/hopper/backward/key_runs.h"
#include "kernels/hopper/backward/params.h"
#include "kernels/hopper/plan.h"
#include "kernels/launch/forward_launch.h"
#include "kernels/launch/run_emulated.h"
#include "kernels/varlen/emulated_work_list_sample.h"

namespace sparkbench::hopper {
namespace {

using Tiles = std::vector<SampleTile>;

/// Items of a block in a launch that is no sample: as many rounds as a block can differ in.
constexpr int kItemsOfBlock = 3;
/// Blocks of rows of a run there, which then has a first, a last, and one between; and tiles of
/// keys of a run that carries dQ.
constexpr int kBlocksOfRun = 3, kTilesOfRun = 7;

bool is_of_keys(const Step& step) { return step.instance->pass() == "bwd"; }
bool carries_dq(const Step& step) { return step.instance->most_visits > 0; }

/// Runs the blocks of `grid`, one for each item, of a launch whose blocks do items: one each for a
/// sample, otherwise several.
void run_items(const Step& step, const LaunchShape& grid, PassRun& pass, bool tells_grid = true) {
  Step made = step;
  ItemGrid& items = made.params.as<LaunchParams>().grid;
  items = {{grid.grid[0], grid.grid[1], grid.grid[2]}, 0, items.order};
  LaunchShape shape = grid;
  shape.blocks.clear();
  shape.work.clear();
  shape.works_by_items = false;
  if (grid.blocks.empty()) {
    items.blocks = ceil_divide(items.items(), kItemsOfBlock);
  } else {
    items.blocks = items.items();
    for (const auto& [x, y, z] : grid.blocks) {
      shape.blocks.push_back({items.item_at(x, y, z), 0, 0});
    }
    for (int item = 0; item < items.items() && !grid.work.empty(); ++item) {
      int place[3];
      items.locate(item, place);
      const int of = grid.works_by_items ? place[1] + grid.grid[1] * place[2] : place[0];
      shape.work.push_back(grid.work[static_cast<std::size_t>(of)]);
    }
  }
  shape.grid = {items.blocks, 1, 1};
  pass.run(made, shape, tells_grid);
}

/// All items of a step as a grid.
LaunchShape grid_of(const Step& step) {
  LaunchShape shape = shape_of(step);
  const ItemGrid& items = step.params.as<LaunchParams>().grid;
  shape.grid = {items.extent[0], items.extent[1], items.extent[2]};
  return shape;
}

/// The blocks of queries that have the tiles: all where there are none.
LaunchShape query_blocks(const Step& step, const Problem& problem,
                         std::span<const SampleTile> tiles) {
  const KernelInstance& instance = *step.instance;
  LaunchShape shape = forward_shape(problem,
                                    {instance.id.data(),
                                     instance.threads,
                                     static_cast<std::size_t>(instance.dynamic_shared_bytes),
                                     instance.block_rows,
                                     {instance.step_columns, kWarpgroupRows}},
                                    tiles);
  if (instance.has_runs && shape.blocks.empty()) {
    shape.grid[0] = ceil_divide(shape.grid[0], kBlocksOfRun);
  }
  return shape;
}

/// The same of blocks of keys.
LaunchShape key_blocks(const Step& step, const Problem& problem, const Tiles& tiles) {
  LaunchShape shape = grid_of(step);
  shape.blocks = blocks_of_tiles(tiles, step.instance->block_rows, shape.grid[0]);
  shape.work = steps_of_blocks(*step.instance, problem);
  return shape;
}

/// The runs of keys that have dK and dV, or dQ, of a sample: one tile of keys each.
LaunchShape key_runs(const Step& step, const Problem& problem, const BackwardSample& sample) {
  LaunchShape shape = grid_of(step);
  const KeyMask mask = problem.key_mask();
  const int of_head = ceil_divide(problem.seqlen_k, kWarpgroupRows);
  if (sample.is_everything()) {
    shape.grid[0] = ceil_divide(of_head, kTilesOfRun);
    return shape;
  }
  shape.grid[0] = of_head;
  constexpr int kTilesOfSample = kSampleRows / kWarpgroupRows;
  std::set<std::array<int, 3>> runs;
  for (const auto& [tile, head, batch] : sample.key_tiles) {
    for (int i = kTilesOfSample * tile; i < kTilesOfSample * (tile + 1); ++i) {
      if (i < of_head) runs.insert({i, head, batch});
    }
  }
  for (const auto& [tile, head, batch] : sample.query_tiles) {
    for (int i = kTilesOfSample * tile; i < kTilesOfSample * (tile + 1); ++i) {
      if (i < of_head) runs.insert({tiles_of_step(mask, i).end - 1, head, batch});
    }
  }
  shape.blocks = {runs.begin(), runs.end()};
  return shape;
}

/// Runs all blocks that see a query of these tiles, for all heads of a group, to add what these
/// queries contribute to the sums of dQ. Leaves partial dK and dV. Its counts are not part of the
/// whole pass's counts.
void sum_queries(const Step& keys, const Problem& problem, const Tiles& query_tiles,
                 PassRun& pass) {
  std::set<SampleTile> of_groups;
  for (const auto& [tile, head, batch] : query_tiles) {
    of_groups.insert({tile, problem.key_head(head), batch});
  }
  for (const auto& [tile, key_head, batch] : of_groups) {
    Step of_tile = keys;
    auto& params = of_tile.params.as<BackwardParams>();
    params.query_begin = tile * kSampleRows;
    params.query_end = std::min((tile + 1) * kSampleRows, problem.seqlen_q);
    Tiles seen;
    const Range of_rows = problem.key_mask().keys_of_any({params.query_begin, params.query_end});
    for (int t = of_rows.begin / kSampleRows; t * kSampleRows < of_rows.end; ++t) {
      seen.push_back({t, key_head, batch});
    }
    if (seen.empty()) continue;  // dQ stays zero; an empty list would mean all
    run_items(of_tile, key_blocks(of_tile, problem, seen), pass, false);
  }
}

LaunchShape rounded_rows(const Step& step, const Tiles& tiles) {
  LaunchShape shape = shape_of(step);
  shape.blocks = blocks_of_tiles(tiles, step.instance->block_rows, shape.grid[0]);
  return shape;
}

void run_dense_backward(const std::vector<Step>& plan, const Problem& problem,
                        const BackwardSample& sample, PassRun& pass) {
  const bool is_everything = sample.is_everything();
  for (const Step& step : plan) {
    if (step.instance == nullptr) {
      run_memset(step.zero);
    } else if (carries_dq(step)) {
      run_items(step, key_runs(step, problem, sample), pass);
    } else if (is_of_keys(step)) {
      if (step.instance->products == kSummedProducts && !sample.query_tiles.empty()) {
        sum_queries(step, problem, sample.query_tiles, pass);
        pass.run(plan.back(), rounded_rows(plan.back(), sample.query_tiles));
      }
      if (is_everything || !sample.key_tiles.empty()) {
        run_items(step, key_blocks(step, problem, sample.key_tiles), pass);
      }
    } else if (step.instance->products == kDqProducts) {
      if (is_everything || !sample.query_tiles.empty()) {
        run_items(step, query_blocks(step, problem, sample.query_tiles), pass);
      }
    } else if (is_everything || step.instance->pass() != "bwd-round-dq") {
      pass.run(step, shape_of(step));
    }
  }
}

/// Runs the blocks of the sampled sequences: all those that add to their sums of dQ.
void run_varlen(const std::vector<Step>& plan, const PlanRequest& request,
                const BackwardSample& sample, PassRun& pass) {
  Tiles all = sample.query_tiles;
  all.insert(all.end(), sample.key_tiles.begin(), sample.key_tiles.end());
  for (const Step& step : plan) {
    if (step.instance == nullptr) {
      run_memset(step.zero);
    } else if (step.instance->blocks != BlockSource::kVarlen) {
      pass.run(step, shape_of(step));  // of the lists, or of rows
    } else {
      const WorkListParams list =
          work_list(request.problem, *request.lengths, work_list_kind(*step.instance),
                    const_cast<WorkItem*>(step.params.as<ForwardParams>().items));
      LaunchShape shape = grid_of(step);
      const SampledList sampled{list, step.instance->step_columns};
      if (step.instance->products == kSummedProducts) {
        sampled.restrict_to_sequences(all, shape);
      } else {
        sampled.restrict_to(is_of_keys(step) ? sample.key_tiles : sample.query_tiles, shape);
      }
      if (sample.is_everything() || !shape.blocks.empty()) run_items(step, shape, pass);
    }
  }
}

/// `request` has the problem without its pattern, and the lists.
void run_sparse(const std::vector<Step>& plan, const PlanRequest& request,
                const BackwardSample& sample, PassRun& pass) {
  const Step* listed = nullptr;  // the last step over lists
  for (const Step& step : plan) {
    const bool is_listed = step.instance->blocks == BlockSource::kBlockSparse;
    if (is_listed) listed = &step;
    if (listed == nullptr) {
      pass.run(step, shape_of(step));
      continue;
    }
    const bool of_keys = is_of_keys(*listed);
    const Tiles& tiles = of_keys ? sample.key_tiles : sample.query_tiles;
    if (!sample.is_everything() && tiles.empty()) continue;
    const KernelInstance& instance = *listed->instance;
    const bool is_second = instance.pass() == "bwd-dq";
    const SparseTileLists& lists = (*request.lists)[request.first_list + (is_second ? 1 : 0)];
    if (is_listed) {
      const LaunchShape grid = grid_of(step);
      run_items(step,
                list_shape({instance.id.data(), instance.threads, grid.shared_bytes, lists,
                            grid.grid[0], grid.grid[2], instance.block_rows},
                           tiles),
                pass);
    } else {
      const LaunchShape shape =
          split_shape(step.instance->id.data(), lists, instance.block_rows,
                      of_keys ? key_shape(request.problem) : query_shape(request.problem), tiles);
      if (!has_nothing(shape, tiles)) pass.run(step, shape);
    }
  }
}

EmulationReport run(const std::vector<Step>& plan, const PlanRequest& request,
                    const EmulationOptions& options, const BackwardSample& sample) {
  if (request.problem.sparse) {
    const Problem dense = without_pattern(request.problem);
    const PlanRequest of_dense = request.of(dense);
    PassRun pass(of_dense, options);
    run_sparse(plan, of_dense, sample, pass);
    return pass.take_report();
  }
  PassRun pass(request, options);
  if (request.lengths != nullptr) {
    run_varlen(plan, request, sample, pass);
  } else if (request.backward != nullptr) {
    run_dense_backward(plan, request.problem, sample, pass);
  } else if (!plan.empty()) {
    run_items(plan[0], query_blocks(plan[0], request.problem, sample.query_tiles), pass);
  }
  return pass.take_report();
}

}  // namespace

EmulationReport emulate(const PlanRequest& request, const EmulationOptions& options,
                        const BackwardSample& sample) {
  HostWorkspace workspace;
  return run(plan(request, workspace), request, options, sample);
}

EmulationReport emulate_forward(const PlanRequest& request, const EmulationOptions& options,
                                RowForm form, std::span<const SampleTile> tiles) {
  return run(forward_plan(request, form), request, options, {{tiles.begin(), tiles.end()}, {}});
}

EmulationReport emulate_backward(const PlanRequest& request, const EmulationOptions& options,
                                 DqForm dq, const BackwardSample& sample) {
  HostWorkspace workspace;
  return run(request.lengths != nullptr ? varlen_backward_plan(request, dq, workspace)
                                        : backward_plan(request, dq, workspace),
             request, options, sample);
}

}  // namespace sparkbench::hopper
