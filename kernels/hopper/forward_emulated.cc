#include "kernels/hopper/forward_emulated.h"

#include "kernels/base/ceil_divide.h"
#include "kernels/block_sparse/listed_emulated.h"
#include "kernels/hopper/dispatch.h"
#include "kernels/hopper/forward/kernel.h"
#include "kernels/hopper/items_emulated.h"
#include "kernels/launch/forward_launch.h"
#include "kernels/launch/pass_regions.h"

namespace sparkbench::hopper {
namespace {

/// Blocks of rows of a run, in a launch that is no sample: a run then has a first, a last, and one
/// between.
constexpr int kBlocksOfRun = 3;

template <class Config>
void run_kernel(EmulatedMachine& machine, const LaunchParams& params) {
  attention_forward<Config>(machine, params);
}

EmulationReport emulate_listed(const Problem& problem, const ForwardTensors& tensors,
                               const EmulationOptions& options, std::span<const SampleTile> tiles) {
  const LaunchParams dense = launch_params(without_pattern(problem), tensors, encode_emulated_map);
  EmulationReport report;
  visit_forward<Blocks::kSparse>(problem, [&](auto row, auto id) {
    using Config = decltype(row);
    const ListedForward kernel{
        id, Config::kThreads, sizeof(ForwardTiles<Config>), kSparseQueries<Config>,
        [&](const LaunchShape& shape, std::span<const GlobalRegion> regions,
            const ForwardParams& listed) {
          LaunchParams params = dense;
          static_cast<ForwardParams&>(params) = listed;
          return emulate_items(shape, regions, options, params, run_kernel<Config>);
        }};
    report = emulate_listed_forward(kernel, problem, tensors, options, tiles);
  });
  return report;
}

}  // namespace

EmulationReport emulate_forward(const Problem& problem, const ForwardTensors& tensors,
                                const EmulationOptions& options, RowForm form,
                                std::span<const SampleTile> tiles) {
  if (problem.sparse) return emulate_listed(problem, tensors, options, tiles);
  LaunchParams params = launch_params(problem, tensors, encode_emulated_map);
  params.grid.order = item_order(params.mask, problem.head_dim);
  EmulationReport report;
  visit_forward(problem, form, [&](auto row, auto id) {
    using Config = decltype(row);
    const ForwardGrid grid{id,
                           Config::kThreads,
                           sizeof(ForwardTiles<Config>),
                           Config::kBlockM,
                           {Config::kBlockN, Config::kTileStart}};
    LaunchShape shape = forward_shape(problem, grid, tiles);
    if constexpr (Config::kHasRuns) {
      params.grid.order = ItemOrder::kHeadsFirst;
      if (shape.blocks.empty()) shape.grid[0] = ceil_divide(shape.grid[0], kBlocksOfRun);
    }
    report = emulate_items(shape, forward_regions(problem, tensors), options, params,
                           run_kernel<Config>);
  });
  return report;
}

}  // namespace sparkbench::hopper
