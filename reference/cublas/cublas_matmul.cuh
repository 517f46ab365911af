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

/// Throws std::runtime_error, OutOfDeviceMemory where it is that, with the call, and the status'
/// name and description.
inline void check_cublas(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string what =
      std::string(call) + ": " + cublasGetStatusName(status) + ": " + cublasGetStatusString(status);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfDeviceMemory(what);
  throw std::runtime_error(what);
}

/// A matrix [rows, columns] of every head, row-major in GPU memory: element (i, j) of the n-th is
/// of_head[n][i * row_stride + j], or, transposed, that is element (j, i). The pointers lie in GPU
/// memory too (head_pointers.cuh).
template <class T>
struct HeadMatrices {
  std::byte* const* of_head;
  int rows;
  int columns;
  int row_stride;
  int count;  // of matrices: heads of a group may share one
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
  int count;  // of heads, those of all batch elements

  /// C = alpha * A B, alpha applied in fp32 before C is rounded. C is not transposed, and no two
  /// heads share one.
  template <class T, class Product>
  void operator()(float alpha, const HeadMatrices<T>& a, const HeadMatrices<T>& b,
                  const HeadMatrices<Product>& c) const {
    // cuBLAS is column-major: to it our C is its transpose, B^T A^T.
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
