#include "kernels/hopper/backward/carried_kernel.h"
#include "kernels/hopper/backward/dq_kernel.h"
#include "kernels/hopper/backward/kernel.h"
#include "kernels/hopper/backward/round_dq.h"
#include "kernels/hopper/backward/row_statistics.h"
#include "kernels/hopper/compiled_kernel.cuh"

namespace sparkbench::hopper {

SPARK_HOPPER_BACKWARD(SPARK_HOPPER_BACKWARD_KERNEL)
SPARK_HOPPER_BACKWARD_SUMS(SPARK_HOPPER_BACKWARD_KERNEL)
SPARK_HOPPER_BACKWARD_CARRIED(SPARK_HOPPER_BACKWARD_CARRIED_KERNEL)
SPARK_HOPPER_BACKWARD_DQ(SPARK_HOPPER_BACKWARD_DQ_KERNEL)
SPARK_HOPPER_SPARSE_BACKWARD(SPARK_HOPPER_BACKWARD_KERNEL)
SPARK_HOPPER_SPARSE_BACKWARD_DQ(SPARK_HOPPER_BACKWARD_DQ_KERNEL)
SPARK_HOPPER_PACKED_BACKWARD(SPARK_HOPPER_BACKWARD_KERNEL)
SPARK_HOPPER_PACKED_BACKWARD_SUMS(SPARK_HOPPER_BACKWARD_KERNEL)
SPARK_HOPPER_PACKED_BACKWARD_DQ(SPARK_HOPPER_BACKWARD_DQ_KERNEL)

extern "C" __global__ void __launch_bounds__(StatisticsConfig::kThreads)
    hopper_fp32acc_bwd_statistics(const __grid_constant__ BackwardParams params) {
  GpuMachine machine;
  prepare_statistics(machine, params);
}

extern "C" __global__ void __launch_bounds__(RoundDqConfig::kThreads)
    hopper_fp32acc_bwd_round_dq(const __grid_constant__ BackwardParams params) {
  GpuMachine machine;
  round_dq(machine, params);
}

}  // namespace sparkbench::hopper
