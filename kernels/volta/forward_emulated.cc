#include "kernels/volta/forward_emulated.h"

#include "kernels/launch/forward_launch.h"
#include "kernels/launch/pass_regions.h"
#include "kernels/machine/emulated/machine.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/forward/schedules.h"

namespace sparkbench::volta {

EmulationReport emulate_forward(Accumulator accumulator, const Problem& problem,
                                const ForwardTensors& tensors, const EmulationOptions& options,
                                std::span<const SampleTile> tiles) {
  const ForwardParams params = forward_params(problem, tensors);
  EmulationReport report;
  visit_forward(accumulator, {problem, options.shared_bytes_per_block}, [&](auto row, auto id) {
    using Config = decltype(row);
    const ForwardGrid grid{
        id, Config::kThreads, sizeof(ForwardTiles<Config>), Config::kBlockM, {Config::kBlockN}};
    report =
        emulate(forward_shape(problem, grid, tiles), forward_regions(problem, tensors), options,
                [&](EmulatedMachine& machine) { attention_forward<Config>(machine, params); });
  });
  return report;
}

}  // namespace sparkbench::volta
