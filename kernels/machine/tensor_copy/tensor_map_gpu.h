// A tensor map of the GPU's own bits.
#pragma once

#include "kernels/machine/tensor_copy/tensor_map.h"

namespace sparkbench {

/// By the driver (cuTensorMapEncodeTiled). Throws std::runtime_error where it has none or refuses.
TensorMap encode_tensor_map(const TensorMapShape& shape);

}  // namespace sparkbench
