#include "kernels/volta/emulated_bodies.h"

namespace sparkbench::volta {

SPARK_VOLTA_FORWARD(SPARK_EMULATED_FORWARD)

}  // namespace sparkbench::volta
