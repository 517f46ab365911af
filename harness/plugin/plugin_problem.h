// A problem and its tensors in the terms of sparkbench_kernel.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/candidates/own_outputs.h"
#include "harness/plugin/sparkbench_kernel.h"
#include "kernels/problem/packed.h"
#include "kernels/problem/tensors.h"
#include "reference/encoder/layer_shape.h"
#include "reference/tensors/element_type.h"
#include "reference/tensors/tensor_layout.h"

namespace sparkbench {

/// Where a plug-in runs: on the host, unless it says otherwise.
struct PluginDevice {
  sparkbench_backend backend = SPARKBENCH_HOST;
  int sm = 0;
  int index = -1;  // CUDA's
};

sparkbench_dtype dtype_of(ElementType element);

/// Owns all that the C problem points to.
class PluginProblem {
 public:
  /// `layer` is null for attention alone.
  PluginProblem(const Problem& problem, const TensorFormat& format, Pass pass,
                bool is_deterministic, const PluginDevice& device,
                const LayerShape* layer = nullptr);
  PluginProblem(const PluginProblem&) = delete;
  PluginProblem& operator=(const PluginProblem&) = delete;

  const sparkbench_problem* get() const { return &c_; }

 private:
  static int32_t sees(const void* mask_context, int32_t sequence, int32_t head, int32_t q,
                      int32_t k);
  static void sees_keys(const void* mask_context, int32_t sequence, int32_t head, int32_t q,
                        uint8_t* seen);

  Problem problem_;
  std::vector<KeyMask> masks_;  // of each sequence, or one for all; none: the mask is a pattern
  std::string mask_;
  sparkbench_layer layer_{};
  sparkbench_problem c_{};
};

/// Tensors of the problem, or of Problem::packed() with `lengths`. Those of `backward` are null
/// without a backward pass.
sparkbench_tensors plugin_tensors(const ForwardTensors& forward, const BackwardTensors& backward,
                                  const PackedLengths& lengths);

/// Sets the pointers of its outputs to null, for a kernel that allocates its own.
void take_outputs_away(sparkbench_tensors& tensors);

/// Where sparkbench_kernel::outputs() says that they are.
OwnOutputs own_outputs(const sparkbench_tensors& tensors);

}  // namespace sparkbench
