// The forward pass of a layer on a GPU.
#pragma once

#include <utility>

#include "reference/encoder/gpu_layer_parts.h"

namespace sparkbench {

class LayerForwardPass {
 public:
  /// `parts` must outlive it.
  explicit LayerForwardPass(const LayerParts& parts);

  void run(const AfterStage& after) const;
  /// As GpuLayer::forward_stage().
  void run_stage(Stage stage) const;

 private:
  void add_bias(Half* x, const Half* bias, RowExtents extents) const;
  /// sum = residual + dropout(x + bias), in one launch or one for each operation.
  void add(DropoutSite site, Half* x, const Half* bias, const Half* residual, Half* sum) const;
  void normalize(const Half* z, int which, Half* norm) const;
  void add_and_norm(DropoutSite site, Half* x, const Half* bias, const Half* residual, Half* sum,
                    int which, Half* norm) const;
  void project_in(const Half* input) const;
  void project_out() const;
  void expand(const Half* input) const;
  void contract() const;

  const LayerParts& parts_;
  Product qkv_, proj_;
  std::pair<Product, Epilogue> ff1_;
  Product ff2_;
};

}  // namespace sparkbench
