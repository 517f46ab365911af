// A layer in a GPU's memory with its attention and inputs, ready to run.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "harness/devices/gpu_memory.h"
#include "harness/encoder/loaded_layer.h"
#include "reference/encoder/exact_gpu_stages.h"
#include "reference/encoder/gpu_layer.h"
#include "reference/encoder/layer_data_on_gpu.h"
#include "sweeps/memory.h"

namespace sparkbench {

inline std::vector<Half> download_halves(const Half* data, std::size_t elements) {
  std::vector<Half> host(elements);
  CUDA_CHECK(cudaMemcpy(host.data(), data, elements * sizeof(Half), cudaMemcpyDeviceToHost));
  return host;
}

/// Shared by every layer on the GPU; outlives them.
struct OnGpu {
  const LayerWork& work;
  const LayerDataOnGpu& data;
  const ProductLibrary& library;
  const CudaStream& stream;
  const std::shared_ptr<cublasContext>& cublas;
};

inline LayerShape shape_of(const LayerWork& work, Rest rest) {
  LayerShape shape = work.shape;
  shape.rest = rest;
  return shape;
}

/// The offsets of varlen sequences, in the GPU's memory.
class OffsetsOnGpu {
 public:
  explicit OffsetsOnGpu(const Problem& problem)
      : batch_(problem.batch), offsets_(problem.lengths ? offset_bytes(problem) / 2 : 0) {
    if (!problem.lengths) return;
    CUDA_CHECK(cudaMemcpy(offsets_.as<int>(), problem.lengths->cu_seqlens_q().data(),
                          offsets_.bytes(), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaDeviceSynchronize());  // a non-blocking stream would not wait for the copy
  }
  /// A layer has as many keys as rows. Null pointers if all sequences have one length.
  PackedLengths lengths() const {
    if (offsets_.bytes() == 0) return {};
    return {batch_, offsets_.as<int>(), offsets_.as<int>()};
  }
  std::uint64_t bytes() const { return offsets_.bytes(); }

 private:
  int batch_;
  DeviceBuffer offsets_;
};

/// A layer with its attention, ready to run a pass.
class ReadyLayer {
 public:
  ReadyLayer(const OnGpu& on, const LayerVariant& variant, const RunOptions& options)
      : pass_(options.pass),
        stream_(on.stream),
        offsets_(on.work.problem),
        layer_(shape_of(on.work, variant.rest), on.work.problem, options.pass, on.data.weights(),
               on.library, on.stream.get()),
        attention_(variant.attention.prepare(
            {on.work.problem,
             {},
             options,
             layer_.attention_tensors(),
             pass_ == Pass::kForward ? BackwardTensors{} : layer_.attention_gradients(),
             offsets_.lengths(),
             on.stream.get(),
             on.cublas,
             allocate_for_candidate,
             upload_for_candidate})) {
    layer_.set_attention(attention_.forward, attention_.backward);
    layer_.poison();
    on.data.give_inputs(layer_, on.stream.get());
    stream_.synchronize();
  }

  /// One stage of a forward pass from these inputs; other memory is poisoned.
  std::vector<Half> run_stage(Stage stage, const StageTensors& tensors, const StageInputs& inputs,
                              Rest rest, std::size_t elements) const {
    layer_.poison();
    for (const std::string_view name : tensors.inputs) {
      const std::vector<Half>& input = stage_input(inputs, name, rest);
      CUDA_CHECK(cudaMemcpyAsync(layer_.tensor(name), input.data(), input.size() * sizeof(Half),
                                 cudaMemcpyHostToDevice, stream_.get()));
    }
    layer_.forward_stage(stage);
    stream_.synchronize();
    return download_halves(layer_.tensor(tensors.output), elements);
  }

  const GpuLayer& layer() const { return layer_; }

  /// A backward pass starts from a forward pass's results.
  void precede() const {
    if (pass_ != Pass::kBackward) return;
    layer_.forward();
    stream_.synchronize();
  }
  void enqueue(const AfterStage& after = [](Stage) {}) const {
    if (pass_ != Pass::kBackward) layer_.forward(after);
    if (pass_ != Pass::kForward) layer_.backward(after);
  }

  std::uint64_t bytes() const {
    return layer_.bytes() + attention_.workspace_bytes + ProductLibrary::kWorkspaceBytes +
           offsets_.bytes();
  }

 private:
  Pass pass_;
  const CudaStream& stream_;
  OffsetsOnGpu offsets_;
  GpuLayer layer_;
  Prepared attention_;
};

}  // namespace sparkbench
