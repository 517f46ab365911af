#include "kernels/hopper/compiled_kernel.cuh"
#include "kernels/hopper/forward/kernel.h"
#include "kernels/hopper/launch_params.h"

namespace sparkbench::hopper {

SPARK_HOPPER_FORWARD(SPARK_HOPPER_FORWARD_KERNEL)
SPARK_HOPPER_RUNS_FORWARD(SPARK_HOPPER_FORWARD_KERNEL)
SPARK_HOPPER_SPARSE_FORWARD(SPARK_HOPPER_FORWARD_KERNEL)
SPARK_HOPPER_PACKED_FORWARD(SPARK_HOPPER_FORWARD_KERNEL)

}  // namespace sparkbench::hopper
