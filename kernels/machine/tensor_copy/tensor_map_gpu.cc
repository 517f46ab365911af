#include "kernels/machine/tensor_copy/tensor_map_gpu.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/machine/cuda_resources.h"

namespace sparkbench {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

/// From the driver that is loaded, so that nothing need be linked with it.
Encode driver_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                              cudaEnableDefault, &found));
#else
  CUDA_CHECK(
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found));
#endif
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    throw std::runtime_error("this driver has no cuTensorMapEncodeTiled: one for CUDA 12 has");
  }
  return reinterpret_cast<Encode>(function);
}

}  // namespace

TensorMap encode_tensor_map(const TensorMapShape& shape) {
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) && alignof(TensorMap) >= 64);
  static const Encode encode = driver_encode();
  make_context_current();
  const cuuint64_t extents[] = {shape.columns, shape.rows, shape.heads, shape.batch};
  const cuuint64_t strides[] = {shape.row_stride, shape.head_stride, shape.batch_stride};
  const cuuint32_t box[] = {kBoxColumns, kBoxRows, 1, 1}, steps[] = {1, 1, 1, 1};
  CUtensorMap map;
  // A copy moves bits and fills with zeros: FLOAT16 is right for any 16-bit type.
  const CUresult result =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, const_cast<Bits16*>(shape.first), extents,
             strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw std::runtime_error("cuTensorMapEncodeTiled refuses a tensor of " +
                             std::to_string(shape.batch) + " x " + std::to_string(shape.rows) +
                             " x " + std::to_string(shape.heads) + " x " +
                             std::to_string(shape.columns) + " (CUDA error " +
                             std::to_string(static_cast<int>(result)) + ")");
  }
  TensorMap bits;
  std::memcpy(&bits, &map, sizeof bits);
  return bits;
}

}  // namespace sparkbench
