#include "kernels/hopper/emulated_bodies.h"

namespace sparkbench::hopper {

SPARK_HOPPER_FORWARD(SPARK_EMULATED_FORWARD)
SPARK_HOPPER_RUNS_FORWARD(SPARK_EMULATED_FORWARD)
SPARK_HOPPER_SPARSE_FORWARD(SPARK_EMULATED_FORWARD)

}  // namespace sparkbench::hopper
