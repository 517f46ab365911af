#include "kernels/hopper/backward/round_dq.h"
#include "kernels/hopper/backward/row_statistics.h"
#include "kernels/hopper/emulated_bodies.h"

namespace sparkbench::hopper {

SPARK_HOPPER_BACKWARD(SPARK_EMULATED_BACKWARD)
SPARK_HOPPER_BACKWARD_SUMS(SPARK_EMULATED_BACKWARD)
SPARK_HOPPER_BACKWARD_CARRIED(SPARK_EMULATED_BACKWARD_CARRIED)
SPARK_HOPPER_BACKWARD_DQ(SPARK_EMULATED_BACKWARD_DQ)
SPARK_HOPPER_SPARSE_BACKWARD(SPARK_EMULATED_BACKWARD)
SPARK_HOPPER_SPARSE_BACKWARD_DQ(SPARK_EMULATED_BACKWARD_DQ)

void emulate_statistics_thread(EmulatedMachine& machine, const void* params) {
  prepare_statistics(machine, *static_cast<const BackwardParams*>(params));
}
void emulate_round_dq_thread(EmulatedMachine& machine, const void* params) {
  round_dq(machine, *static_cast<const BackwardParams*>(params));
}

}  // namespace sparkbench::hopper
