// The backward pass of a layer on a GPU, from what its forward pass keeps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference/encoder/gpu_layer_parts.h"

namespace sparkbench {

class LayerBackwardPass {
 public:
  /// `parts` must outlive it.
  explicit LayerBackwardPass(const LayerParts& parts);

  void run(const AfterStage& after) const;
  std::vector<LayerGradient> gradients() const;

 private:
  /// A product that adds a residual's gradient itself, or is followed by a launch that does.
  struct WithResidual {
    Product product;
    bool adds;
  };
  WithResidual find_with_residual(ProductShape shape, bool has_residual) const;
  void multiply_and_add(const WithResidual& by, const Half* a, const Half* b, const Half* residual,
                        Half* d) const;
  ColumnSums sums_to(std::string_view gradient) const;
  void sum_columns(std::string_view gradient, const Half* x, RowExtents extents) const;
  void drop_branch(DropoutSite site, Half* d_z, std::string_view branch) const;
  /// The gradient of z of the `which`-th LayerNorm and, unless `branch` is empty, that of the
  /// branch, after dropout's gradient.
  void normalize_backward(Stage stage, int which, const Half* d_norm, const Half* z,
                          const Half* beside, Half* d_z, std::string_view branch,
                          DropoutSite site) const;
  void feed_forward_backward(const Half* input, Half* d_f, const Half* residual, Half* d_input,
                             const AfterStage& after) const;
  void attention_backward(const Half* input, Half* d_a, const Half* residual, Half* d_input,
                          const AfterStage& after) const;

  const LayerParts& parts_;
  bool is_fused_;
  Product d_w2_, d_g_, d_w1_;
  WithResidual d_h_;
  Product d_wo_, d_o_, d_wqkv_;
  WithResidual d_x_;
};

}  // namespace sparkbench
