#include "kernels/volta/forward_emulated.h"

#include <set>
#include <string>
#include <vector>

#include "kernels/machine/emulated/machine.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/schedules.h"

namespace sparkbench::volta {
namespace {

std::vector<GlobalRegion> regions(const Problem& problem, const ForwardTensors& tensors) {
  const auto input = [](std::string name, const Half* base, std::size_t elements) {
    return GlobalRegion{std::move(name), const_cast<Half*>(base), elements * sizeof(Half), true};
  };
  return {input("q", tensors.q.data, problem.q_elements()),
          input("k", tensors.k.data, problem.k_elements()),
          input("v", tensors.v.data, problem.k_elements()),
          GlobalRegion{"o", tensors.o.data, problem.q_elements() * sizeof(Half), false},
          GlobalRegion{"lse", tensors.lse, problem.lse_elements() * sizeof(float), false}};
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
    report = emulate(shape, regions(problem, tensors), options,
                     [&](EmulatedMachine& machine) { attention_forward<Config>(machine, params); });
  });
  return report;
}

}  // namespace sparkbench::volta
