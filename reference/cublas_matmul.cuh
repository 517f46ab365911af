// Matrix products of all heads of one batch element, by cuBLAS with fp32 accumulators.
#pragma once

#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/machine/out_of_device_memory.h"

namespace sparkbench {

/// Throws std::runtime_error, OutOfDeviceMemory where it is that, with the call, and the status'
/// name and description.
inline void check_cublas(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string what =
      std::string(call) + ": " + cublasGetStatusName(status) + ": " + cublasGetStatusString(status);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfDeviceMemory(what);
  throw std::runtime_error(what);
}

/// A matrix [rows, columns] of every head, row-major in GPU memory: element (i, j) of head h is
/// data[h * head_stride + i * row_stride + j], or, transposed, that is element (j, i).
template <class T>
struct HeadMatrices {
  T* data;
  int rows;
  int columns;
  int row_stride;
  long long head_stride;
  bool is_transposed = false;
};

template <class T>
HeadMatrices<T> transposed(HeadMatrices<T> matrices) {
  std::swap(matrices.rows, matrices.columns);
  matrices.is_transposed = !matrices.is_transposed;
  return matrices;
}

inline cudaDataType_t cublas_type(const __half*) { return CUDA_R_16F; }
inline cudaDataType_t cublas_type(const float*) { return CUDA_R_32F; }

struct HeadMatmul {
  cublasHandle_t handle;
  int heads;

  /// C = alpha * A B, alpha applied in fp32 before C is rounded. C is not transposed.
  template <class A, class B, class C>
  void operator()(float alpha, const HeadMatrices<A>& a, const HeadMatrices<B>& b,
                  const HeadMatrices<C>& c) const {
    // cuBLAS is column-major: to it our C is its transpose, B^T A^T.
    const float beta = 0.0f;
    const auto op = [](bool is_transposed) { return is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    check_cublas(
        cublasGemmStridedBatchedEx(
            handle, op(b.is_transposed), op(a.is_transposed), c.columns, c.rows, a.columns, &alpha,
            b.data, cublas_type(b.data), b.row_stride, b.head_stride, a.data, cublas_type(a.data),
            a.row_stride, a.head_stride, &beta, c.data, cublas_type(c.data), c.row_stride,
            c.head_stride, heads, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmStridedBatchedEx");
  }
};

}  // namespace sparkbench
