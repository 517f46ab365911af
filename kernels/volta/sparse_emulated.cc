#include "kernels/machine/emulated/machine.h"
#include "kernels/volta/backward/schedules.h"
#include "kernels/volta/emulated_kernels.h"
#include "kernels/volta/forward/schedules.h"
#include "kernels/volta/instances.h"

namespace sparkbench::volta {

SPARK_EMULATED_BODY(emulate_forward_thread, attention_forward, ForwardParams)
SPARK_EMULATED_BODY(emulate_backward_thread, attention_backward, BackwardParams)
SPARK_EMULATED_BODY(emulate_backward_dq_thread, attention_backward_dq, BackwardParams)

SPARK_VOLTA_SPARSE_FORWARD(SPARK_EMULATED_FORWARD)
SPARK_VOLTA_SPARSE_BACKWARD(SPARK_EMULATED_BACKWARD)
SPARK_VOLTA_SPARSE_BACKWARD_DQ(SPARK_EMULATED_BACKWARD_DQ)

}  // namespace sparkbench::volta
