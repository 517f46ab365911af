#include "kernels/volta/backward/rows.h"
#include "kernels/volta/backward/schedules.h"
#include "kernels/volta/compiled_kernel.cuh"

namespace sparkbench::volta {

SPARK_VOLTA_BACKWARD(SPARK_BACKWARD_KERNEL)
SPARK_VOLTA_BACKWARD_RELAY(SPARK_BACKWARD_KERNEL)
SPARK_VOLTA_BACKWARD_DQ(SPARK_BACKWARD_DQ_KERNEL)
SPARK_VOLTA_STATISTICS(SPARK_STATISTICS_KERNEL)
SPARK_VOLTA_ROUND_DQ(SPARK_ROUND_DQ_KERNEL)

}  // namespace sparkbench::volta
