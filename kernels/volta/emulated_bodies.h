// The definitions of emulated_kernels.h, for the .cc files that compile them.
#pragma once

#include "kernels/machine/emulated/machine.h"
#include "kernels/volta/backward/rows.h"
#include "kernels/volta/backward/schedules.h"
#include "kernels/volta/emulated_kernels.h"
#include "kernels/volta/forward/mainloop.h"
#include "kernels/volta/instances.h"

namespace sparkbench::volta {

SPARK_EMULATED_BODY(emulate_forward_thread, attention_forward, ForwardParams)
SPARK_EMULATED_BODY(emulate_backward_thread, attention_backward, BackwardParams)
SPARK_EMULATED_BODY(emulate_backward_dq_thread, attention_backward_dq, BackwardParams)
SPARK_EMULATED_BODY(emulate_statistics_thread, prepare_statistics, BackwardParams)
SPARK_EMULATED_BODY(emulate_round_dq_thread, round_dq, BackwardParams)

}  // namespace sparkbench::volta
