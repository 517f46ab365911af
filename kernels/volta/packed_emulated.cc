#include "kernels/machine/emulated/machine.h"
#include "kernels/volta/backward/rows.h"
#include "kernels/volta/backward/schedules.h"
#include "kernels/volta/emulated_kernels.h"
#include "kernels/volta/forward/schedules.h"
#include "kernels/volta/instances.h"

namespace sparkbench::volta {

SPARK_EMULATED_BODY(emulate_forward_thread, attention_forward, ForwardParams)
SPARK_EMULATED_BODY(emulate_backward_thread, attention_backward, BackwardParams)
SPARK_EMULATED_BODY(emulate_backward_dq_thread, attention_backward_dq, BackwardParams)
SPARK_EMULATED_BODY(emulate_statistics_thread, prepare_statistics, BackwardParams)
SPARK_EMULATED_BODY(emulate_round_dq_thread, round_dq, BackwardParams)

SPARK_VOLTA_PACKED_FORWARD(SPARK_EMULATED_FORWARD)
SPARK_VOLTA_PACKED_BACKWARD(SPARK_EMULATED_BACKWARD)
SPARK_VOLTA_PACKED_BACKWARD_DQ(SPARK_EMULATED_BACKWARD_DQ)
SPARK_VOLTA_PACKED_STATISTICS(SPARK_EMULATED_STATISTICS)
SPARK_VOLTA_PACKED_ROUND_DQ(SPARK_EMULATED_ROUND_DQ)

}  // namespace sparkbench::volta
