#include "kernels/volta/emulated.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/listed_emulated.h"
#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/block_sparse/pattern_parts.h"
#include "kernels/launch/forward_launch.h"
#include "kernels/launch/run_emulated.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/varlen/emulated_work_list_sample.h"
#include "kernels/volta/backward/relay_plan.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/emulated_sample.h"
#include "kernels/volta/plan.h"

namespace sparkbench::volta {
namespace {

/// Columns that a block walks at a time.
int step_of(const KernelInstance& instance) { return instance.step_columns / instance.teams; }

/// Whether a step's blocks are of keys.
bool is_of_keys(const Step& step) { return step.instance->pass() == "bwd"; }

/// The list of a varlen step's blocks.
WorkListParams list_of(const Step& step, const PlanRequest& request) {
  const WorkItem* const items = step.instance->pass() == "fwd"
                                    ? step.params.as<ForwardParams>().items
                                : is_of_keys(step) ? step.params.as<BackwardParams>().key_items
                                                   : step.params.as<BackwardParams>().query_items;
  return work_list(request.problem, *request.lengths, work_list_kind(*step.instance),
                   const_cast<WorkItem*>(items));
}

/// Blocks in relay hand on the sums of dQ, and publish the statistics where they prepare them.
class RelayRun : public PassRun {
 public:
  using PassRun::PassRun;

 private:
  void complete_regions(const Step& step, std::vector<GlobalRegion>& all) const override {
    if (!step.instance->relays_dq) return;
    const auto& params = step.params.as<BackwardParams>();
    const auto named = [&](std::string_view name) -> GlobalRegion& {
      return *std::find_if(all.begin(), all.end(),
                           [&](const GlobalRegion& region) { return region.name == name; });
    };
    named("statistics").is_published = params.relay.prepares_statistics;
    GlobalRegion& sums = named("dq_sums");
    sums.turns = params.relay.turns;
    sums.bytes_of_turn = sums.bytes / (named("turns").bytes / sizeof(std::uint32_t));
    sums.adds_in_any_order = !has_ordered_sums(request().problem.head_dim);
  }
};

/// The blocks of a dense step that have the tiles: all where there are none. How much each block
/// walks is known where that differs.
LaunchShape dense_shape(const Step& step, const Problem& problem, const Tiles& tiles) {
  const KernelInstance& instance = *step.instance;
  LaunchShape shape = shape_of(step);
  if (instance.pass() == "bwd") {
    shape.work = steps_of_blocks(instance, problem);
  } else if (instance.pass() == "bwd-dq") {
    shape.work = tiles_of_blocks(problem, instance.block_rows, {step_of(instance)}, false);
  }
  for (const SampleTile& tile : tiles) {
    const int first = tile[0] * kSampleRows / instance.block_rows;
    const int end = std::min(first + kSampleRows / instance.block_rows, shape.grid[0]);
    for (int block = first; block < end; ++block) shape.blocks.push_back({block, tile[1], tile[2]});
  }
  return shape;
}

/// The blocks of a varlen step that have the tiles; of rows, every head of the sampled sequences.
LaunchShape varlen_shape(const Step& step, const PlanRequest& request, const Tiles& tiles) {
  const WorkListParams list = list_of(step, request);
  LaunchShape shape = shape_of(step);
  if (step.instance->products == 0) {
    SampledList{list, kSampleRows}.restrict_to_sequences(tiles, shape);
  } else {
    const int blocks_of_head = list.block_rows / step.instance->block_rows;
    SampledList{list, step_of(*step.instance), blocks_of_head}.restrict_to(tiles, shape);
  }
  return shape;
}

/// The blocks of a step of a pattern's lists, and of what follows it.
LaunchShape listed_shape(const Step& step, const SparseTileLists& lists, const Tiles& tiles) {
  const KernelInstance& instance = *step.instance;
  return list_shape({instance.id.data(), instance.threads,
                     static_cast<std::size_t>(instance.dynamic_shared_bytes), lists, step.grid[0],
                     step.grid[2], instance.block_rows},
                    tiles);
}

/// Only the queries of a tile take part in a step. This is no part of the whole pass: the sampled
/// keys tell its counts.
Step restricted(const Step& step, const Problem& problem, const SampleTile& tile) {
  BackwardParams params = step.params.as<BackwardParams>();
  params.query_begin = tile[0] * kSampleRows;
  params.query_end = std::min((tile[0] + 1) * kSampleRows, problem.seqlen_q);
  const int member = tile[1] % problem.group_size();
  params.walk = group_walk(problem.seqlen_q, member, member + 1);
  Step of_tile = step;
  of_tile.params = ParamBytes(params);
  return of_tile;
}

/// A sample of dQ: its queries alone, over all keys that they see. Before the sampled keys, for it
/// leaves partial sums in dK and dV.
void run_sampled_dq(const Step& keys, const Problem& problem, const Tiles& queries, PassRun& pass) {
  for (const SampleTile& tile : queries) {
    const Tiles seen = tiles_of_visible_keys(problem, tile);
    if (seen.empty()) continue;  // dQ stays zero; an empty list would mean all
    pass.run(restricted(keys, problem, tile), dense_shape(keys, problem, seen), false);
  }
}

/// The same of a pattern.
void run_sampled_dq(const Step& keys, const PlanRequest& request, const Problem& dense,
                    const Tiles& queries, PassRun& pass) {
  for (const SampleTile& tile : queries) {
    SparseListKind kind = list_kind_of(*keys.instance);
    kind.only = {tile[0] * kSampleRows, (tile[0] + 1) * kSampleRows};
    kind.splits = false;
    PatternLists of_tile;
    of_tile.add({*request.problem.sparse, kind});
    const SparseTileLists& lists = of_tile[0];
    Tiles seen;
    for (int i = 0; i < lists.blocks_of_head(); ++i) {
      const SparseBlock& block = lists.block(tile[1] % lists.unions(), i);
      if (block.tiles == 0) continue;
      seen.push_back({block.first_row / kSampleRows, dense.key_head(tile[1]), tile[2]});
    }
    if (seen.empty()) continue;  // as above
    const int member = tile[1] % dense.group_size();
    BackwardParams params = keys.params.as<BackwardParams>();
    params.sparse_keys = lists.on_host();
    params.walk = walk_of_lists(*keys.instance, lists, member, member + 1);
    const Step step = listed_gradients(*keys.instance, dense, lists, params);
    pass.run(step, listed_shape(step, lists, seen), false);
  }
}

/// dK, dV and dQ by blocks that hand it on.
void run_relay(const Step& step, const Problem& problem, const BackwardSample& sample,
               PassRun& pass) {
  const auto& params = step.params.as<BackwardParams>();
  for (const MemoryPart& part : step.writes) {  // no numbers before blocks set them to zero
    if (part.first != params.workspace.dq_sums) continue;
    std::fill_n(params.workspace.dq_sums, part.bytes / sizeof(float),
                std::numeric_limits<float>::quiet_NaN());
  }
  LaunchShape shape = dense_shape(step, problem, {});
  std::reverse(shape.work.begin(), shape.work.end());
  if (sample.is_everything()) return pass.run(step, shape);
  bool is_first = true;
  for (const KeyBlocks& keys : key_blocks_of(problem, sample)) {
    shape.blocks.clear();
    for (int i = keys.blocks.begin; i < keys.blocks.end; ++i) {
      shape.blocks.push_back({shape.grid[0] - 1 - i, keys.key_head, keys.batch});
    }
    pass_turns_behind(params.relay, problem, keys.blocks.end);
    pass.run(step, shape, is_first);
    is_first = false;
  }
}

const Step* find_step(const std::vector<Step>& plan, std::string_view pass) {
  for (const Step& step : plan) {
    if (step.instance != nullptr && step.instance->pass() == pass) return &step;
  }
  return nullptr;
}

/// One kind of backward pass: which blocks of its steps have a sample.
EmulationReport run_relay_plan(const std::vector<Step>& plan, Accumulator accumulator,
                               const PlanRequest& request, const EmulationOptions& options,
                               const BackwardSample& sample) {
  RelayRun pass(request, options);
  const Problem& problem = request.problem;
  const Step& keys = plan.back();
  const auto& params = keys.params.as<BackwardParams>();
  const Tiles rows = tiles_of_same_heads(problem, sample);
  const bool is_sampled = !sample.is_everything();
  for (const Step& step : plan) {
    if (step.instance == nullptr) {
      run_memset(step.zero);
    } else if (&step != &keys) {
      pass.run(step, dense_shape(step, problem, rows));
    }
  }
  if (is_sampled && params.relay.prepares_statistics) {
    // A sample needs them as well: blocks that do not run would have published some of them.
    const Step statistics = statistics_step(accumulator, request, params);
    pass.run(statistics, dense_shape(statistics, problem, rows));
    pass.forget_report();
  }
  run_relay(keys, problem, sample, pass);
  return pass.take_report();
}

EmulationReport run_dense_backward(const std::vector<Step>& plan, const PlanRequest& request,
                                   const EmulationOptions& options, const BackwardSample& sample) {
  PassRun pass(request, options);
  const Problem& problem = request.problem;
  const bool is_sampled = !sample.is_everything();
  for (const Step& step : plan) {
    if (step.instance == nullptr) {
      run_memset(step.zero);
      continue;
    }
    const std::string_view name = step.instance->pass();
    if (name == "bwd-statistics") {
      pass.run(step, dense_shape(step, problem, tiles_of_same_heads(problem, sample)));
    } else if (name == "bwd-dq") {
      pass.run(step, dense_shape(step, problem, sample.query_tiles));
    } else if (name == "bwd") {
      const Step* const rounding = find_step(plan, "bwd-round-dq");
      if (is_sampled && rounding != nullptr) {
        run_sampled_dq(step, problem, sample.query_tiles, pass);
        pass.run(*rounding, dense_shape(*rounding, problem, sample.query_tiles));
      }
      pass.run(step, dense_shape(step, problem, sample.key_tiles));
    } else if (!is_sampled) {
      pass.run(step, dense_shape(step, problem, {}));
    }
  }
  return pass.take_report();
}

EmulationReport run_varlen(const std::vector<Step>& plan, const PlanRequest& request,
                           const EmulationOptions& options, const BackwardSample& sample) {
  PassRun pass(request, options);
  for (const Step& step : plan) {
    if (step.instance == nullptr) {
      run_memset(step.zero);
    } else if (step.instance->blocks != BlockSource::kVarlen) {
      pass.run(step, shape_of(step));  // of the lists
    } else {
      const bool is_sampled = !sample.is_everything();
      const LaunchShape shape =
          varlen_shape(step, request, is_of_keys(step) ? sample.key_tiles : sample.query_tiles);
      if (!is_sampled || !shape.blocks.empty()) pass.run(step, shape);
    }
  }
  return pass.take_report();
}

/// `request` has the pattern, and its lists.
EmulationReport run_sparse(const std::vector<Step>& plan, const PlanRequest& request,
                           const EmulationOptions& options, const BackwardSample& sample) {
  const Problem dense = without_pattern(request.problem);
  const PlanRequest of_dense = request.of(dense);
  PassRun pass(of_dense, options);
  const bool is_sampled = !sample.is_everything();
  const SparseTileLists* lists = nullptr;
  const Step* listed = nullptr;  // the last step over lists
  for (const Step& step : plan) {
    if (step.instance == nullptr) {
      run_memset(step.zero);
    } else if (step.instance->blocks == BlockSource::kBlockSparse) {
      listed = &step;
      lists = &(*request.lists)[request.first_list + (step.instance->pass() == "bwd-dq" ? 1 : 0)];
      const Step* const rounding = find_step(plan, "bwd-round-dq");
      if (is_sampled && is_of_keys(step) && rounding != nullptr) {
        run_sampled_dq(step, request, dense, sample.query_tiles, pass);
        pass.run(*rounding, shape_of(*rounding));
      }
      pass.run(step, listed_shape(step, *lists,
                                  is_of_keys(step) ? sample.key_tiles : sample.query_tiles));
    } else if (step.instance->id.ends_with("-parts")) {  // of the last step over lists
      const bool of_keys = is_of_keys(*listed);
      const Tiles& tiles = of_keys ? sample.key_tiles : sample.query_tiles;
      const LaunchShape shape =
          split_shape(step.instance->id.data(), *lists, listed->instance->block_rows,
                      of_keys ? key_shape(dense) : query_shape(dense), tiles);
      if (!has_nothing(shape, tiles)) pass.run(step, shape);
    } else if (!is_sampled || step.instance->pass() != "bwd-round-dq") {
      pass.run(step, shape_of(step));
    }
  }
  return pass.take_report();
}

}  // namespace

EmulationReport emulate_forward(Accumulator accumulator, const PlanRequest& request,
                                const EmulationOptions& options,
                                std::span<const SampleTile> tiles) {
  HostWorkspace workspace;
  const std::vector<Step> steps = plan(accumulator, request, workspace);
  const BackwardSample sample{{tiles.begin(), tiles.end()}, {}};
  if (request.lengths != nullptr) return run_varlen(steps, request, options, sample);
  if (request.problem.sparse) return run_sparse(steps, request, options, sample);
  const KernelInstance& instance = *steps[0].instance;
  const ForwardGrid grid{instance.id.data(),
                         instance.threads,
                         static_cast<std::size_t>(instance.dynamic_shared_bytes),
                         instance.block_rows,
                         {instance.step_columns}};
  PassRun pass(request, options);
  pass.run(steps[0], forward_shape(request.problem, grid, tiles));
  return pass.take_report();
}

EmulationReport emulate_backward(Accumulator accumulator, const PlanRequest& request,
                                 const EmulationOptions& options, const BackwardSample& sample) {
  HostWorkspace workspace;
  const bool relays = request.lengths == nullptr &&
                      has_relay(request.problem, request.is_deterministic) &&
                      find_relay(accumulator, request) != nullptr;
  if (relays && !sample.is_everything()) {
    return emulate_backward_relay(accumulator, request, options, all_step_bits(request.problem),
                                  sample);
  }
  const std::vector<Step> steps = plan(accumulator, request, workspace);
  if (relays) return run_relay_plan(steps, accumulator, request, options, sample);
  if (request.lengths != nullptr) return run_varlen(steps, request, options, sample);
  if (request.problem.sparse) return run_sparse(steps, request, options, sample);
  return run_dense_backward(steps, request, options, sample);
}

EmulationReport emulate_backward_relay(Accumulator accumulator, const PlanRequest& request,
                                       const EmulationOptions& options, int slot_bits,
                                       const BackwardSample& sample) {
  HostWorkspace workspace;
  const std::vector<Step> steps =
      relay_plan(*find_relay(accumulator, request), request, slot_bits, workspace);
  return run_relay_plan(steps, accumulator, request, options, sample);
}

}  // namespace sparkbench::volta
