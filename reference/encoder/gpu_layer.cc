#include "reference/encoder/gpu_layer.h"

#include <optional>
#include <utility>

#include "reference/encoder/gpu_layer_backward.h"
#include "reference/encoder/gpu_layer_forward.h"

namespace sparkbench {
namespace {

/// What a forward pass leaves to its backward pass.
void keep_for_repeats(const std::vector<LayerStep>& steps,
                      std::map<std::string, TensorLife>& lives) {
  for (const LayerStep& step : steps) {
    if (!step.is_backward) continue;
    for (const LayerTensor& tensor : step.reads) {
      if (tensor.is_weight) continue;
      TensorLife& life = lives.at(tensor.name);
      if (!steps.at(life.first).is_backward) life.last = steps.size();
    }
  }
}

void require_extents(const LayerShape& shape) {
  if (shape.hidden % 8 != 0 || shape.ffn % 8 != 0) {
    throw UnsupportedError(
        "a layer on a GPU takes a hidden size and an FFN size that are multiples of 8");
  }
  if (shape.hidden > kMostNormalizedColumns) {
    throw UnsupportedError("a layer on a GPU takes a hidden size of at most " +
                           std::to_string(kMostNormalizedColumns) + ", which a block normalizes");
  }
}

LayerShape checked(const LayerShape& shape) {
  require_extents(shape);
  return shape;
}

}  // namespace

LayerPlaces places_of(const LayerShape& shape, const Problem& problem, Pass pass) {
  const auto steps =
      layer_steps(shape, problem, pass == Pass::kForward ? Pass::kForward : Pass::kForwardBackward);
  auto lives = tensor_lives(steps);
  if (pass == Pass::kBackward) keep_for_repeats(steps, lives);
  return place_tensors(lives);
}

struct GpuLayer::Passes {
  Passes(const LayerShape& shape, const Problem& problem, Pass pass,
         const LayerWeightPointers& weights, const ProductLibrary& library, cudaStream_t stream)
      : parts(checked(shape), problem, pass, weights, library, stream), forward(parts) {
    if (parts.has_backward) backward.emplace(parts);
  }

  /// Of [tokens, 3 hidden], the part 0, 1 or 2.
  TensorView<Half> packed_view(std::string_view name, int part) const {
    const std::int64_t row = 3 * std::int64_t{parts.shape.hidden};
    return {parts.at(name) + std::int64_t{part} * parts.shape.hidden, parts.layout.seqlen_q * row,
            row, parts.layout.head_dim};
  }

  LayerParts parts;
  LayerForwardPass forward;
  std::optional<LayerBackwardPass> backward;
};

GpuLayer::GpuLayer(const LayerShape& shape, const Problem& problem, Pass pass,
                   const LayerWeightPointers& weights, const ProductLibrary& library,
                   cudaStream_t stream)
    : passes_(std::make_unique<Passes>(shape, problem, pass, weights, library, stream)) {}

GpuLayer::~GpuLayer() = default;

ForwardTensors GpuLayer::attention_tensors() const {
  const LayerParts& parts = passes_->parts;
  return {passes_->packed_view("qkv", 0), passes_->packed_view("qkv", 1),
          passes_->packed_view("qkv", 2), contiguous_queries(parts.layout, parts.at("o")),
          reinterpret_cast<float*>(parts.at("lse"))};
}

BackwardTensors GpuLayer::attention_gradients() const {
  const LayerParts& parts = passes_->parts;
  const ForwardTensors forward = attention_tensors();
  return {forward.q,
          forward.k,
          forward.v,
          forward.o,
          contiguous_queries(parts.layout, parts.at("do")),
          forward.lse,
          passes_->packed_view("dqkv", 0),
          passes_->packed_view("dqkv", 1),
          passes_->packed_view("dqkv", 2)};
}

void GpuLayer::set_attention(std::function<void()> forward, std::function<void()> backward) {
  passes_->parts.attention_forward = std::move(forward);
  passes_->parts.attention_backward = std::move(backward);
}

void GpuLayer::poison() const {
  constexpr int kNanByte = 0xff;  // in fp16 and in fp32
  const LayerParts& parts = passes_->parts;
  for (const DeviceBuffer* buffer : {&parts.memory, &parts.scratch}) {
    if (buffer->bytes() == 0) continue;
    CUDA_CHECK(cudaMemsetAsync(buffer->as<void>(), kNanByte, buffer->bytes(), parts.stream));
  }
}

void GpuLayer::forward(const AfterStage& after_stage) const { passes_->forward.run(after_stage); }

void GpuLayer::forward_stage(Stage stage) const { passes_->forward.run_stage(stage); }

void GpuLayer::backward(const AfterStage& after_stage) const {
  passes_->backward.value().run(after_stage);
}

Half* GpuLayer::tensor(std::string_view name) const { return passes_->parts.at(name); }

std::vector<LayerGradient> GpuLayer::gradients() const {
  return passes_->backward.value().gradients();
}

std::uint64_t GpuLayer::bytes() const {
  return passes_->parts.memory.bytes() + passes_->parts.scratch.bytes();
}

}  // namespace sparkbench
