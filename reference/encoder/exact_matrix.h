// Matrices of doubles in GPU memory and their products, for the fp64 layer. Everything runs on the
// default stream.
#pragma once

#include <cublas_v2.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/machine/cuda_resources.h"
#include "kernels/machine/out_of_device_memory.h"
#include "reference/encoder/exact_kernels.h"

namespace sparkbench {

/// A row-major matrix, or a part of a wider one.
struct DoubleView {
  double* data;
  int rows, columns, stride;
  bool is_transposed = false;

  DoubleView transposed() const { return {data, columns, rows, stride, !is_transposed}; }
};

/// Throws OutOfDeviceMemory.
class DoubleMatrix {
 public:
  DoubleMatrix(int rows, int columns)
      : rows_(rows),
        columns_(columns),
        memory_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) *
                sizeof(double)) {}
  DoubleMatrix(const std::vector<Half>& halves, int rows, int columns)
      : DoubleMatrix(rows, columns) {
    const DeviceBuffer staged(halves.size() * sizeof(Half));
    CUDA_CHECK(
        cudaMemcpy(staged.as<Half>(), halves.data(), staged.bytes(), cudaMemcpyHostToDevice));
    exact_widen(staged.as<Half>(), data(), size(), nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  double* data() const { return memory_.as<double>(); }
  std::size_t size() const { return memory_.bytes() / sizeof(double); }
  ExactExtents extents() const { return {rows_, columns_}; }
  DoubleView view() const { return {data(), rows_, columns_, columns_}; }
  DoubleView part(int first_row, int rows, int first_column, int columns) const {
    return {data() + std::ptrdiff_t{first_row} * columns_ + first_column, rows, columns, columns_};
  }
  std::vector<double> download() const {
    std::vector<double> host(size());
    CUDA_CHECK(cudaMemcpy(host.data(), data(), memory_.bytes(), cudaMemcpyDeviceToHost));
    return host;
  }
  /// Rounds each value to the nearest fp16.
  std::vector<Half> download_halves() const {
    const DeviceBuffer staged(size() * sizeof(Half));
    exact_narrow(data(), staged.as<Half>(), size(), nullptr);
    std::vector<Half> host(size());
    CUDA_CHECK(cudaMemcpy(host.data(), staged.as<Half>(), staged.bytes(), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  int rows_, columns_;
  DeviceBuffer memory_;
};

/// Products by cuBLAS. Throws OutOfDeviceMemory or std::runtime_error.
class ExactProducts {
 public:
  explicit ExactProducts(cublasContext* cublas) : cublas_(cublas) {
    check(cublasSetStream(cublas_, nullptr));
  }

  /// C = A B (+ of_c C). cuBLAS is column-major. It sees C as its transpose, B^T A^T.
  void multiply(const DoubleView& a, const DoubleView& b, const DoubleView& c,
                double of_c = 0) const {
    const double one = 1;
    const auto operation = [](const DoubleView& m) {
      return m.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    };
    check(cublasDgemm(cublas_, operation(b), operation(a), c.columns, c.rows, a.columns, &one,
                      b.data, b.stride, a.data, a.stride, &of_c, c.data, c.stride));
  }

 private:
  static void check(cublasStatus_t status) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    const std::string what = std::string("cublasDgemm: ") + cublasGetStatusString(status);
    if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfDeviceMemory(what);
    throw std::runtime_error(what);
  }

  cublasContext* cublas_;
};

}  // namespace sparkbench
