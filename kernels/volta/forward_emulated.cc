#include "kernels/machine/emulated/machine.h"
#include "kernels/volta/emulated_kernels.h"
#include "kernels/volta/forward/schedules.h"
#include "kernels/volta/instances.h"

namespace sparkbench::volta {

SPARK_EMULATED_BODY(emulate_forward_thread, attention_forward, ForwardParams)

SPARK_VOLTA_FORWARD(SPARK_EMULATED_FORWARD)

}  // namespace sparkbench::volta
