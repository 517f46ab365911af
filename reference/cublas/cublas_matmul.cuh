// Matrix products of all heads of all batch elements, by cuBLAS with fp32 accumulators.
#pragma once

#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/machine/out_of_device_memory.h"

namespace sparkbench {

/// Throws OutOfDeviceMemory for an allocation failure, std::runtime_error for any other. The
/// message has the call and the name and description of the status.
inline void check_cublas(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string what =
      std::string(call) + ": " + cublasGetStatusName(status) + ": " + cublasGetStatusString(status);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfDeviceMemory(what);
  throw std::runtime_error(what);
}

/// One matrix [rows, columns] per head, row-major in GPU memory. Element (i, j) of the n-th matrix
/// is of_head[n][i * row_stride + j]; if transposed, that is element (j, i). The pointers are in
/// GPU memory too (head_pointers.cuh).
template <class T>
struct HeadMatrices {
  std::byte* const* of_head;
  int rows;
  int columns;
  int row_stride;
  int count;  // number of matrices; the heads of a group may share one
  bool is_transposed = false;
};

template <class T>
HeadMatrices<T> transposed(HeadMatrices<T> matrices) {
  std::swap(matrices.rows, matrices.columns);
  matrices.is_transposed = !matrices.is_transposed;
  return matrices;
}

template <class T>
inline constexpr cudaDataType_t kCublasType = CUDA_R_32F;
template <>
inline constexpr cudaDataType_t kCublasType<__half> = CUDA_R_16F;

struct HeadMatmul {
  cublasHandle_t handle;
  int count;  // number of heads, over all batch elements

  /// C = alpha * A B. alpha is applied in fp32 before C is rounded. C is not transposed, and each
  /// head has its own.
  template <class T, class Product>
  void operator()(float alpha, const HeadMatrices<T>& a, const HeadMatrices<T>& b,
                  const HeadMatrices<Product>& c) const {
    // cuBLAS is column-major. It sees our C as the transpose, B^T A^T.
    const float beta = 0.0f;
    const auto op = [](bool is_transposed) { return is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const auto inputs = [](const HeadMatrices<T>& m) {
      return reinterpret_cast<const void* const*>(m.of_head);
    };
    check_cublas(
        cublasGemmBatchedEx(handle, op(b.is_transposed), op(a.is_transposed), c.columns, c.rows,
                            a.columns, &alpha, inputs(b), kCublasType<T>, b.row_stride, inputs(a),
                            kCublasType<T>, a.row_stride, &beta,
                            reinterpret_cast<void* const*>(c.of_head), kCublasType<Product>,
                            c.row_stride, count, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmBatchedEx");
  }
};

}  // namespace sparkbench
