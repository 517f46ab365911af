#include "reference/encoder/product.h"

#include <cublasLt.h>

#include <stdexcept>
#include <string>

#include "kernels/machine/out_of_device_memory.h"

namespace sparkbench {
namespace {

void check_product(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string what = std::string(call) + ": " + cublasLtGetStatusString(status);
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw OutOfDeviceMemory(what);
  throw std::runtime_error(what);
}

cublasLtEpilogue_t epilogue_of(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::kNone:
      return CUBLASLT_EPILOGUE_DEFAULT;
    case Epilogue::kBias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::kGelu:
      return CUBLASLT_EPILOGUE_GELU_BIAS;
    case Epilogue::kGeluKeeping:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case Epilogue::kRelu:
      return CUBLASLT_EPILOGUE_RELU_BIAS;
  }
  throw std::logic_error("no such epilogue");
}

bool has_bias(Epilogue epilogue) { return epilogue != Epilogue::kNone; }

bool has_argument(Epilogue epilogue) { return epilogue == Epilogue::kGeluKeeping; }

/// cublasLt is column-major: to it our D is its transpose, B^T A^T.
class Layout {
 public:
  Layout(int columns, int rows) {
    check_product(
        cublasLtMatrixLayoutCreate(&layout_, CUDA_R_16F, static_cast<std::uint64_t>(columns),
                                   static_cast<std::uint64_t>(rows), columns),
        "cublasLtMatrixLayoutCreate");
  }
  ~Layout() { cublasLtMatrixLayoutDestroy(layout_); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

class Description {
 public:
  Description() {
    check_product(cublasLtMatmulDescCreate(&description_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                  "cublasLtMatmulDescCreate");
  }
  ~Description() { cublasLtMatmulDescDestroy(description_); }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  cublasLtMatmulDesc_t get() const { return description_; }

  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) const {
    check_product(cublasLtMatmulDescSetAttribute(description_, attribute, &value, sizeof value),
                  "cublasLtMatmulDescSetAttribute");
  }

 private:
  cublasLtMatmulDesc_t description_ = nullptr;
};

class Preference {
 public:
  Preference() {
    check_product(cublasLtMatmulPreferenceCreate(&preference_), "cublasLtMatmulPreferenceCreate");
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{ProductLibrary::kWorkspaceBytes});
    // Sums of a split inner dimension stay in fp32.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  }
  ~Preference() { cublasLtMatmulPreferenceDestroy(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const T& value) const {
    check_product(
        cublasLtMatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
  }
  cublasLtMatmulPreference_t preference_ = nullptr;
};

}  // namespace

ProductLibrary::ProductLibrary() {
  cublasLtHandle_t handle = nullptr;
  check_product(cublasLtCreate(&handle), "cublasLtCreate");
  handle_ = {handle, cublasLtDestroy};
}

struct Product::Plan {
  Plan(const ProductLibrary& of, const ProductShape& shape)
      : library(of),
        epilogue(shape.epilogue),
        adds_c(shape.adds_c),
        a(shape.b_is_transposed ? shape.inner : shape.columns,
          shape.b_is_transposed ? shape.columns : shape.inner),
        b(shape.a_is_transposed ? shape.rows : shape.inner,
          shape.a_is_transposed ? shape.inner : shape.rows),
        d(shape.columns, shape.rows) {
    const auto operation = [](bool is_transposed) {
      return is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    };
    description.set(CUBLASLT_MATMUL_DESC_TRANSA, operation(shape.b_is_transposed));
    description.set(CUBLASLT_MATMUL_DESC_TRANSB, operation(shape.a_is_transposed));
    description.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(epilogue));
    if (has_argument(epilogue)) {
      description.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{shape.columns});
    }
  }

  bool find_algorithm() {
    if (has_bias(epilogue)) set_pointer(CUBLASLT_MATMUL_DESC_BIAS_POINTER, library.workspace());
    if (has_argument(epilogue)) {
      set_pointer(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, library.workspace());
    }
    const Preference preference;
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(library.handle(), description.get(), a.get(), b.get(),
                                       d.get(), d.get(), preference.get(), 1, &result, &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE)
      return false;
    check_product(status, "cublasLtMatmulAlgoGetHeuristic");
    algorithm = result.algo;
    return found > 0 && result.state == CUBLAS_STATUS_SUCCESS;
  }

  void set_pointer(cublasLtMatmulDescAttributes_t attribute, const void* pointer) const {
    description.set(attribute, pointer);
  }

  const ProductLibrary& library;
  Epilogue epilogue;
  bool adds_c;
  Description description;
  Layout a, b, d;
  cublasLtMatmulAlgo_t algorithm{};
};

std::optional<Product> Product::find(const ProductLibrary& library, const ProductShape& shape) {
  const auto plan = std::make_shared<Plan>(library, shape);
  if (!plan->find_algorithm()) return std::nullopt;
  return Product(plan);
}

void Product::enqueue(const ProductTensors& tensors, cudaStream_t stream) const {
  const Plan& plan = *plan_;
  if (has_bias(plan.epilogue)) plan.set_pointer(CUBLASLT_MATMUL_DESC_BIAS_POINTER, tensors.bias);
  if (has_argument(plan.epilogue)) {
    plan.set_pointer(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, tensors.u);
  }
  const float alpha = 1.0f, beta = plan.adds_c ? 1.0f : 0.0f;
  const Half* const c = plan.adds_c ? tensors.c : tensors.d;
  check_product(cublasLtMatmul(plan.library.handle(), plan.description.get(), &alpha, tensors.b,
                               plan.a.get(), tensors.a, plan.b.get(), &beta, c, plan.d.get(),
                               tensors.d, plan.d.get(), &plan.algorithm, plan.library.workspace(),
                               ProductLibrary::kWorkspaceBytes, stream),
                "cublasLtMatmul");
}

}  // namespace sparkbench
