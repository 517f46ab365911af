// A launch over items on the emulated machine.
#pragma once

#include "kernels/hopper/launch_params.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/machine/emulated/blocks/tensor_copies.h"
#include "kernels/machine/emulated/machine.h"

namespace sparkbench::hopper {

/// The launch whose blocks do the blocks of a launch's grid as work items: one each for a sample,
/// otherwise several.
LaunchShape shape_of_items(const LaunchShape& grid, ItemGrid& items);

/// Runs kernel(machine, params) that way.
template <class Params, class Kernel>
EmulationReport emulate_items(const LaunchShape& grid, std::span<const GlobalRegion> regions,
                              const EmulationOptions& options, const Params& of_grid,
                              Kernel kernel) {
  Params params = of_grid;
  const LaunchShape shape = shape_of_items(grid, params.grid);
  return emulate(shape, regions, options,
                 [&](EmulatedMachine& machine) { kernel(machine, params); });
}

}  // namespace sparkbench::hopper
