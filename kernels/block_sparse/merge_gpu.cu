// The kernels of merge_steps.h.
#include "kernels/machine/gpu.cuh"
#include "kernels/tile/merge_parts.h"

namespace sparkbench {

extern "C" __global__ void __launch_bounds__(kMergeThreads)
    spark_merge_passes(const MergeParams params) {
  GpuMachine machine;
  merge_passes<Half>(machine, params);
}

extern "C" __global__ void __launch_bounds__(kMergeThreads)
    spark_gather_lse(const GatherParams params) {
  GpuMachine machine;
  gather_lse(machine, params);
}

extern "C" __global__ void __launch_bounds__(kMergeThreads)
    spark_sum_gradients(const SumParams params) {
  GpuMachine machine;
  sum_gradients<Half>(machine, params);
}

extern "C" __global__ void __launch_bounds__(kMergeThreads)
    spark_merge_parts(const MergePartsParams params) {
  GpuMachine machine;
  merge_parts<Half>(machine, params);
}

extern "C" __global__ void __launch_bounds__(kMergeThreads)
    spark_sum_parts(const SumPartsParams params) {
  GpuMachine machine;
  sum_parts<Half>(machine, params);
}

}  // namespace sparkbench
