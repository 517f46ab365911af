// Shared by the passes of a layer on a GPU: its memory, its weights, and its products.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/base/unsupported_error.h"
#include "reference/encoder/gpu_layer.h"
#include "reference/encoder/row_kernels.h"

namespace sparkbench {

class Products {
 public:
  explicit Products(const ProductLibrary& library) : library_(library) {}

  Product required(const ProductShape& shape) const {
    if (auto found = Product::find(library_, shape)) return *found;
    throw UnsupportedError("cublasLt has no algorithm for a product of " +
                           std::to_string(shape.rows) + " x " + std::to_string(shape.inner) +
                           " by " + std::to_string(shape.columns) + " with its epilogue");
  }
  /// With the first available one of the epilogues; the last is required.
  std::pair<Product, Epilogue> first_of(ProductShape shape,
                                        std::initializer_list<Epilogue> epilogues) const {
    for (const Epilogue epilogue : epilogues) {
      shape.epilogue = epilogue;
      if (auto found = Product::find(library_, shape)) return {*found, epilogue};
    }
    return {required(shape), shape.epilogue};
  }

 private:
  const ProductLibrary& library_;
};

/// Offsets of a pass's tensors. With kBackward, the tensors that a forward pass keeps stay.
LayerPlaces places_of(const LayerShape& shape, const Problem& problem, Pass pass);

/// Whether the product itself applies the activation, or its derivative.
inline bool has_activation(Epilogue epilogue) {
  return epilogue != Epilogue::kNone && epilogue != Epilogue::kBias;
}

struct LayerParts {
  LayerParts(const LayerShape& of, const Problem& attention, Pass pass,
             const LayerWeightPointers& pointers, const ProductLibrary& library, cudaStream_t on)
      : shape(of),
        problem(attention),
        layout(attention.lengths ? attention.packed() : attention),
        weights(pointers),
        stream(on),
        has_backward(pass != Pass::kForward),
        is_fused(of.rest == Rest::kFused),
        is_post(of.norm == NormPlace::kPost),
        dropout(attention.dropout()),
        wide{static_cast<int>(attention.total_q()), of.hidden},
        broad{wide.rows, of.ffn},
        packed{wide.rows, 3 * of.hidden},
        places(places_of(of, attention, pass)),
        memory(places.bytes),
        scratch(has_backward ? scratch_bytes() : 0),
        products(library) {}

  std::size_t scratch_bytes() const {
    return std::max(
        {norm_scratch_bytes(wide), column_scratch_bytes(broad), column_scratch_bytes(packed)});
  }

  bool drops() const { return dropout.threshold != 0; }

  Half* at(std::string_view name) const {
    const auto found = places.offset.find(std::string(name));
    if (found == places.offset.end()) return nullptr;
    return reinterpret_cast<Half*>(memory.as<std::byte>() + found->second);
  }
  /// The gradient of the branch, through dropout; without dropout that of the sum.
  Half* branch_of(std::string_view branch, std::string_view sum) const {
    return drops() ? at(branch) : at(sum);
  }

  const Half* bias_or_null(const Half* bias) const { return shape.bias ? bias : nullptr; }
  const Half* gamma(int which) const { return which == 0 ? weights.gamma_1 : weights.gamma_2; }
  const Half* beta(int which) const { return which == 0 ? weights.beta_1 : weights.beta_2; }

  LayerShape shape;
  Problem problem;
  Problem layout;  // of the attention's tensors: varlen sequences are one
  LayerWeightPointers weights;
  cudaStream_t stream;
  bool has_backward, is_fused, is_post;
  Dropout dropout;
  RowExtents wide, broad, packed;
  LayerPlaces places;
  DeviceBuffer memory, scratch;
  Products products;
  std::function<void()> attention_forward, attention_backward;
};

}  // namespace sparkbench
