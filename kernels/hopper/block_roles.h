// How a block of any of the kernels begins: its barriers made, its warps divided.
#pragma once

#include "kernels/hopper/row_runs.h"
#include "kernels/hopper/tile_copies.h"

namespace sparkbench::hopper {

/// Calls load(item) as the warpgroup that loads, and multiply(item) as the others, `item` being an
/// ItemMachine, or a RunMachine, at the block's first. Config::Tiles has `barriers`.
template <class Config, class Machine, class Params, class Load, class Multiply>
SPARK_DEVICE void divide_block(Machine& machine, const Params& params, Load load,
                               Multiply multiply) {
  const int warp = machine.uniform(machine.warp());
  if (warp == 0) {
    // Config is not named: GCC 13 would complete another kernel's barriers for it.
    init_barriers(machine, machine.template shared<typename Config::Tiles>().barriers,
                  kLoaderWarps<Config>);
  }
  machine.barrier_of_warps();
  auto item = first_item<Config>(machine, params);
  if (warp >= Config::kConsumerWarps) {
    machine.template give_registers<Config::kLoaderRegisters>();
    load(item);
    return;
  }
  machine.template take_registers<Config::kConsumerRegisters>();
  multiply(item);
}

}  // namespace sparkbench::hopper
