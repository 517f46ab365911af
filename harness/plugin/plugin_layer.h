// An encoder layer that is not part of sparkbench, as a candidate of `sparkbench encoder`.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "harness/plugin/plugin_candidate.h"
#include "harness/plugin/plugin_plan.h"
#include "reference/encoder/layer_errors.h"

namespace sparkbench {

/// Memory of a plug-in's backend.
struct PluginMemory {
  std::function<std::shared_ptr<void>(std::size_t bytes)> allocate;
  std::function<void(void* memory, std::size_t bytes)> poison;
  /// Copies to the host what is there after everything that was enqueued.
  std::function<void(Half* to, const void* from, std::size_t elements)> read;
  void* stream = nullptr;
};

/// Its tensors in the order of named_tensors(), in the backend's memory: weights, x, d_y. Null:
/// absent.
using LayerInputs = std::vector<const Half*>;

/// A layer prepared for a problem and its inputs.
class PluginLayerRun {
 public:
  /// Everything but the inputs' vector must outlive it.
  PluginLayerRun(const CheckedKernel& kernel, const PluginDevice& device, const LayerShape& shape,
                 const Problem& problem, const RunOptions& options, LayerInputs inputs,
                 const PluginMemory& memory);

  /// Runs forward and, if the problem has one, backward from poisoned outputs, and returns these.
  /// Throws std::runtime_error for an output that is missing, and for an input that is not the one
  /// of `given` any more.
  LayerOutputs compute(const LayerTensors& given);
  /// A backward pass starts from a forward pass's results.
  void precede();
  /// Enqueues what is timed: the pass.
  void enqueue();
  /// Device memory beside the weights: inputs, outputs, workspace, and what the kernel says that it
  /// used, after its passes.
  std::uint64_t bytes_over_weights() const;

 private:
  struct Output {
    std::string name;  // "y", "dWqkv", ...
    void** at;         // of layer_
    std::size_t elements = 0;
  };
  void forward();
  void backward();
  void locate();
  void run_passes();
  void check_inputs(const LayerTensors& given) const;

  CheckedKernel kernel_;
  PluginProblem problem_;
  PluginMemory memory_;
  Pass pass_;
  std::size_t workspace_bytes_;
  std::shared_ptr<void> workspace_;
  sparkbench_layer_tensors layer_{};
  sparkbench_tensors tensors_{};
  LayerInputs inputs_;
  std::vector<NamedTensor> named_;  // the names and shapes of inputs_
  std::vector<Output> outputs_;
  std::vector<std::shared_ptr<void>> owned_;  // outputs, unless the kernel has its own
  std::uint64_t input_bytes_ = 0;             // of x and d_y
  PluginPlan plan_;
};

class PluginLayer : public PluginCandidate {
 public:
  using PluginCandidate::PluginCandidate;

  /// It computes no attention by itself.
  Support supports(const Problem& problem, Pass pass) const override;
  Support supports_layer(const LayerShape& shape, const Problem& problem, Pass pass) const;
  std::uint64_t workspace_bytes(const Problem&, Pass, bool) const override { return 0; }

  /// Computes it on copies of the tensors. Throws std::runtime_error with the kernel's own words if
  /// a call fails, or if it wrote to an input.
  LayerOutputs run_on_host(const LayerShape& shape, const Problem& problem,
                           const LayerTensors& tensors, const RunOptions& options) const;
  std::unique_ptr<PluginLayerRun> prepare_layer(const LayerShape& shape, const Problem& problem,
                                                const RunOptions& options,
                                                const LayerInputs& inputs,
                                                const PluginMemory& memory) const;
};

/// Null for a candidate that computes attention, around which the harness puts a layer of its own.
const PluginLayer* whole_layer(const Candidate& candidate);

}  // namespace sparkbench
