#include "kernels/volta/forward_emulated.h"

#include <set>
#include <string>
#include <vector>

#include "kernels/machine/emulated/machine.h"
#include "kernels/tensor_regions.h"
#include "kernels/volta/block_work.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/schedules.h"

namespace sparkbench::volta {
namespace {

std::vector<GlobalRegion> regions(const Problem& problem, const ForwardTensors& tensors) {
  const TensorShape queries = query_shape(problem), keys = key_shape(problem);
  std::vector<GlobalRegion> all = regions_of(
      std::array{input_region("q", tensors.q, queries), input_region("k", tensors.k, keys),
                 input_region("v", tensors.v, keys), output_region("o", tensors.o, queries)});
  all.push_back({"lse", tensors.lse, problem.lse_elements() * sizeof(float), false});
  return all;
}

/// The blocks of block_rows that compute these tiles, each once: the inverse of locate_block's
/// order.
std::vector<std::array<int, 3>> blocks_of_tiles(const Problem& problem, int block_rows,
                                                std::span<const SampleTile> tiles) {
  const int last = ceil_divide(problem.seqlen_q, block_rows) - 1;
  const bool is_reversed = launches_last_tile_first(problem.key_mask());
  std::set<std::array<int, 3>> blocks;
  for (const auto& [tile, head, batch] : tiles) {
    const int block = tile * kSampleRows / block_rows;
    blocks.insert({is_reversed ? last - block : block, head, batch});
  }
  return {blocks.begin(), blocks.end()};
}

}  // namespace

EmulationReport emulate_forward(ForwardAccumulators accumulators, const Problem& problem,
                                const ForwardTensors& tensors, const EmulationOptions& options,
                                std::span<const SampleTile> tiles) {
  const ForwardParams params = forward_params(problem, tensors);
  EmulationReport report;
  visit_forward(accumulators, {problem, options.shared_bytes_per_block}, [&](auto row, auto id) {
    using Config = decltype(row);
    LaunchShape shape;
    shape.kernel = id;
    shape.grid = {ceil_divide(problem.seqlen_q, Config::kBlockM), problem.heads, problem.batch};
    shape.threads = Config::kThreads;
    shape.shared_bytes = sizeof(ForwardTiles<Config>);
    shape.blocks = blocks_of_tiles(problem, Config::kBlockM, tiles);
    shape.work = tiles_of_blocks<Config>(problem, launches_last_tile_first(problem.key_mask()));
    report = emulate(shape, regions(problem, tensors), options,
                     [&](EmulatedMachine& machine) { attention_forward<Config>(machine, params); });
  });
  return report;
}

}  // namespace sparkbench::volta
