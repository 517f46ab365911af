#include "kernels/volta/backward/rows.h"
#include "kernels/volta/backward/schedules.h"
#include "kernels/volta/compiled_kernel.cuh"
#include "kernels/volta/forward/mainloop.h"

namespace sparkbench::volta {

SPARK_VOLTA_PACKED_FORWARD(SPARK_FORWARD_KERNEL)
SPARK_VOLTA_PACKED_BACKWARD(SPARK_BACKWARD_KERNEL)
SPARK_VOLTA_PACKED_BACKWARD_DQ(SPARK_BACKWARD_DQ_KERNEL)
SPARK_VOLTA_PACKED_STATISTICS(SPARK_STATISTICS_KERNEL)
SPARK_VOLTA_PACKED_ROUND_DQ(SPARK_ROUND_DQ_KERNEL)

}  // namespace sparkbench::volta
