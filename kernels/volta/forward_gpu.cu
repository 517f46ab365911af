#include "kernels/volta/compiled_kernel.cuh"
#include "kernels/volta/forward/mainloop.h"

namespace sparkbench::volta {

SPARK_VOLTA_FORWARD(SPARK_FORWARD_KERNEL)

}  // namespace sparkbench::volta
