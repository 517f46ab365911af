// A layer's matrix products on a GPU, by cublasLt: fp16 matrices, fp32 accumulators, and epilogues
// that spare launches. Which epilogues there are depends on the GPU, the library and the shape.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/base/half.h"
#include "kernels/machine/cuda_resources.h"

struct cublasLtContext;

namespace sparkbench {

/// The epilogue of a product: applied to the fp32 sum before it is rounded. u is the activation's
/// argument, [rows, columns]. Epilogues for derivatives are not used: on an H200 the product with
/// GELU's derivative and its sums took longer than the product followed by a kernel for both.
enum class Epilogue {
  kNone,
  kBias,         // + bias
  kGelu,         // gelu(+ bias), the tanh form
  kGeluKeeping,  // the same, and u is stored
  kRelu,         // relu(+ bias)
};

/// D [rows, columns] = A [rows, inner] B [inner, columns] (+ C), row-major and contiguous. A
/// transposed matrix is stored as its transpose.
struct ProductShape {
  int rows = 0, columns = 0, inner = 0;
  bool a_is_transposed = false, b_is_transposed = false;
  bool adds_c = false;
  Epilogue epilogue = Epilogue::kNone;
};

struct ProductTensors {
  const Half* a = nullptr;
  const Half* b = nullptr;
  const Half* c = nullptr;  // where the shape adds it; may be d
  Half* d = nullptr;
  const Half* bias = nullptr;  // [columns]
  Half* u = nullptr;
};

/// Shared by the products of a device.
class ProductLibrary {
 public:
  /// For the current device. Throws std::runtime_error, or OutOfDeviceMemory.
  ProductLibrary();

  cublasLtContext* handle() const { return handle_.get(); }
  std::byte* workspace() const { return workspace_.as<std::byte>(); }
  static constexpr std::size_t kWorkspaceBytes = std::size_t{32}
                                                 << 20;  // NVIDIA's advice on Hopper

 private:
  std::shared_ptr<cublasLtContext> handle_;
  DeviceBuffer workspace_{kWorkspaceBytes};
};

/// One product, by the first algorithm of the library's heuristics: the same in every run.
class Product {
 public:
  /// nullopt if the library has no algorithm for it. `library` must outlive the product.
  static std::optional<Product> find(const ProductLibrary& library, const ProductShape& shape);

  /// Tensors are aligned to 256 bytes. Throws std::runtime_error.
  void enqueue(const ProductTensors& tensors, cudaStream_t stream) const;

 private:
  struct Plan;
  explicit Product(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

  std::shared_ptr<const Plan> plan_;
};

}  // namespace sparkbench
