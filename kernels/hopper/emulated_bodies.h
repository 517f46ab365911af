// The definitions of emulated_kernels.h, for the .cc files that compile them.
#pragma once

#include "kernels/hopper/backward/carried_kernel.h"
#include "kernels/hopper/backward/dq_kernel.h"
#include "kernels/hopper/backward/kernel.h"
#include "kernels/hopper/emulated_kernels.h"
#include "kernels/hopper/forward/kernel.h"
#include "kernels/hopper/instances.h"
#include "kernels/machine/emulated/machine.h"

namespace sparkbench::hopper {

SPARK_EMULATED_BODY(emulate_forward_thread, attention_forward, LaunchParams)
SPARK_EMULATED_BODY(emulate_backward_thread, attention_backward, BackwardParams)
SPARK_EMULATED_BODY(emulate_backward_carried_thread, attention_backward_carried, BackwardParams)
SPARK_EMULATED_BODY(emulate_backward_dq_thread, attention_backward_dq, BackwardParams)
SPARK_EMULATED_BODY(emulate_statistics_thread, prepare_statistics, BackwardParams)
SPARK_EMULATED_BODY(emulate_round_dq_thread, round_dq, BackwardParams)

}  // namespace sparkbench::hopper
