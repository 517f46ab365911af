#include "kernels/volta/forward_emulated.h"

#include <string>
#include <vector>

#include "kernels/machine/emulated/machine.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/forward.h"

namespace sparkbench::volta {
namespace {

std::vector<GlobalRegion> regions(const Problem& problem, const ForwardTensors& tensors) {
  const auto input = [](std::string name, const Half* base, std::size_t elements) {
    return GlobalRegion{std::move(name), const_cast<Half*>(base), elements * sizeof(Half), true};
  };
  return {input("q", tensors.q, problem.q_elements()), input("k", tensors.k, problem.k_elements()),
          input("v", tensors.v, problem.k_elements()),
          GlobalRegion{"o", tensors.o, problem.q_elements() * sizeof(Half), false},
          GlobalRegion{"lse", tensors.lse, problem.lse_elements() * sizeof(float), false}};
}

/// The block that computes query tile t: the inverse of locate_block's order.
std::array<int, 3> block_of_tile(const Problem& problem, std::array<int, 3> tile) {
  if (problem.causal) tile[0] = ceil_divide(problem.seqlen_q, kForwardBlockM) - 1 - tile[0];
  return tile;
}

}  // namespace

EmulationReport emulate_forward(Accumulator accumulator, const Problem& problem,
                                const ForwardTensors& tensors, const EmulationOptions& options,
                                std::span<const std::array<int, 3>> tiles) {
  const ForwardParams params = forward_params(problem, tensors);
  EmulationReport report;
  visit_instance(accumulator, problem, [&](auto mma, auto head_dim, auto has_dropout) {
    using Config = ForwardConfig<mma.value, head_dim.value, has_dropout.value>;
    LaunchShape shape;
    shape.kernel = accumulator == Accumulator::kFp16 ? "volta-fp16acc/fwd" : "volta-fp32acc/fwd";
    shape.grid = {ceil_divide(problem.seqlen_q, kForwardBlockM), problem.heads, problem.batch};
    shape.threads = Config::kThreads;
    shape.shared_bytes = sizeof(ForwardTiles<Config>);
    for (const auto& tile : tiles) shape.blocks.push_back(block_of_tile(problem, tile));
    report = emulate(shape, regions(problem, tensors), options,
                     [&](EmulatedMachine& machine) { attention_forward<Config>(machine, params); });
  });
  return report;
}

}  // namespace sparkbench::volta
