#include "kernels/volta/backward/schedules.h"
#include "kernels/volta/compiled_kernel.cuh"
#include "kernels/volta/forward/mainloop.h"

namespace sparkbench::volta {

SPARK_VOLTA_SPARSE_FORWARD(SPARK_FORWARD_KERNEL)
SPARK_VOLTA_SPARSE_BACKWARD(SPARK_BACKWARD_KERNEL)
SPARK_VOLTA_SPARSE_BACKWARD_DQ(SPARK_BACKWARD_DQ_KERNEL)

}  // namespace sparkbench::volta
