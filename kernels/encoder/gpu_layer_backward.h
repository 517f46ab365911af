// The backward pass of a layer on a GPU, from what its forward pass keeps.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/encoder/gpu_layer_parts.h"

namespace sparkbench {

class LayerBackwardPass {
 public:
  /// `parts` outlive it. `ff1` is the epilogue by which the forward pass left u: the derivative's
  /// reads what that wrote.
  LayerBackwardPass(const LayerParts& parts, Epilogue ff1);

  void run(const AfterStage& after) const;
  std::vector<LayerGradient> gradients() const;

 private:
  /// Of a product that adds a residual's gradient in place of a launch of its own, or is followed
  /// by one.
  struct WithResidual {
    Product product;
    bool adds;
  };
  WithResidual find_with_residual(ProductShape shape, bool has_residual) const;
  void multiply_and_add(const WithResidual& by, const Half* a, const Half* b, const Half* residual,
                        Half* d) const;
  void sum_columns(std::string_view of, Half* x, RowExtents extents) const;
  void drop_branch(DropoutSite site, Half* d_z, std::string_view branch) const;
  /// The gradient of z of the `which`-th LayerNorm, and behind dropout that of `branch`, unless
  /// that is empty.
  void normalize_backward(Stage stage, int which, const Half* d_norm, const Half* z,
                          const Half* beside, Half* d_z, std::string_view branch,
                          DropoutSite site) const;
  void feed_forward_backward(const Half* input, Half* d_f, const Half* residual, Half* d_input,
                             const AfterStage& after) const;
  void attention_backward(const Half* input, Half* d_a, const Half* residual, Half* d_input,
                          const AfterStage& after) const;

  const LayerParts& parts_;
  bool is_fused_;
  Product d_w2_;
  std::pair<Product, Epilogue> d_u_;
  Product d_w1_;
  WithResidual d_h_;
  Product d_wo_, d_o_, d_wqkv_;
  WithResidual d_x_;
};

}  // namespace sparkbench
