#include "kernels/volta/forward_emulated.h"

#include <set>
#include <string>
#include <vector>

#include "kernels/machine/emulated/machine.h"
#include "kernels/volta/schedules.h"
#include "kernels/volta/forward_dispatch.h"

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
                                                std::span<const std::array<int, 3>> tiles) {
  const int last = ceil_divide(problem.seqlen_q, block_rows) - 1;
  std::set<std::array<int, 3>> blocks;
  for (const auto& [tile, head, batch] : tiles) {
    const int block = tile * kForwardTileRows / block_rows;
    blocks.insert({launches_last_tile_first(problem.key_mask()) ? last - block : block, head, batch});
  }
  return {blocks.begin(), blocks.end()};
}

std::string launch_name(ForwardAccumulators accumulators) {
  if (accumulators == kFp32Acc) return "volta-fp32acc/fwd";
  if (accumulators == kMixedAcc) return "volta-mixedacc/fwd";
  return accumulators == kFp16Acc ? "volta-fp16acc/fwd" : "volta-fp16acc-o16/fwd";
}

}  // namespace

EmulationReport emulate_forward(ForwardAccumulators accumulators, const Problem& problem,
                                const ForwardTensors& tensors, const EmulationOptions& options,
                                std::span<const std::array<int, 3>> tiles) {
  const ForwardParams params = forward_params(problem, tensors);
  EmulationReport report;
  const auto run = [&](auto config) {
    using Config = decltype(config);
    LaunchShape shape;
    shape.kernel = launch_name(accumulators);
    shape.grid = {ceil_divide(problem.seqlen_q, Config::kBlockM), problem.heads, problem.batch};
    shape.threads = Config::kThreads;
    shape.shared_bytes = sizeof(ForwardTiles<Config>);
    shape.blocks = blocks_of_tiles(problem, Config::kBlockM, tiles);
    report = emulate(shape, regions(problem, tensors), options,
                     [&](EmulatedMachine& machine) { attention_forward<Config>(machine, params); });
  };
  visit_forward_instance(accumulators, problem, [&](auto instance) {
    using Instance = decltype(instance);
    if (sizeof(ForwardTiles<typename Instance::Config>) <= options.shared_bytes_per_block) {
      run(typename Instance::Config{});
    } else {
      run(typename Instance::SmallConfig{});
    }
  });
  return report;
}

}  // namespace sparkbench::volta
