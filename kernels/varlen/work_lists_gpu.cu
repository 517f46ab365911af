// The kernel of list_step.h.
#include "kernels/machine/gpu.cuh"
#include "kernels/varlen/work_lists.h"

namespace sparkbench {

extern "C" __global__ void __launch_bounds__(kListThreads)
    spark_list_blocks(const WorkListsParams params) {
  GpuMachine machine;
  list_blocks(machine, params);
}

}  // namespace sparkbench
