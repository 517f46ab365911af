#include "kernels/machine/emulated/machine.h"

namespace sparkbench {

void run_as_thread(const EmulatedKernel& kernel, BlockRunner& runner, int thread) {
  EmulatedMachine machine(runner, thread);
  kernel(machine);
}

}  // namespace sparkbench
