#include "kernels/hopper/forward_emulated.h"

#include "kernels/forward_launch.h"
#include "kernels/hopper/dispatch.h"
#include "kernels/hopper/forward.h"
#include "kernels/listed_emulated.h"
#include "kernels/machine/emulated/machine.h"
#include "kernels/pass_regions.h"

namespace sparkbench::hopper {
namespace {

EmulationReport emulate_listed(const Problem& problem, const ForwardTensors& tensors,
                               const EmulationOptions& options, std::span<const SampleTile> tiles) {
  EmulationReport report;
  visit_forward<true>(problem, [&](auto row, auto id) {
    using Config = decltype(row);
    const ListedForward kernel{id, Config::kThreads, sizeof(ForwardTiles<Config>),
                               kSparseQueries<Config>,
                               [](EmulatedMachine& machine, const ForwardParams& params) {
                                 attention_forward<Config>(machine, params);
                               }};
    report = emulate_listed_forward(kernel, problem, tensors, options, tiles);
  });
  return report;
}

}  // namespace

EmulationReport emulate_forward(const Problem& problem, const ForwardTensors& tensors,
                                const EmulationOptions& options,
                                std::span<const SampleTile> tiles) {
  if (problem.sparse) return emulate_listed(problem, tensors, options, tiles);
  const ForwardParams params = forward_params(problem, tensors);
  EmulationReport report;
  visit_forward<false>(problem, [&](auto row, auto id) {
    using Config = decltype(row);
    const ForwardGrid grid{id, Config::kThreads, sizeof(ForwardTiles<Config>), Config::kBlockM,
                           Config::kBlockN};
    report =
        emulate(forward_shape(problem, grid, tiles), forward_regions(problem, tensors), options,
                [&](EmulatedMachine& machine) { attention_forward<Config>(machine, params); });
  });
  return report;
}

}  // namespace sparkbench::hopper
