// A layer's launches, in order: each launch's stage, its FLOPs and the tensors that it reads and
// writes. FLOPs, bytes and launches of a layer follow from this list, and peak memory
// (layer_memory.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/encoder/layer_shape.h"

namespace sparkbench {

/// Post-LN's order. Pre-LN has ln1 before qkv, and ln2 between proj and ff1; the residual after ff2
/// then belongs to ff2.
enum class Stage { kQkv, kMha, kProj, kLn1, kFf1, kFf2, kLn2 };
inline constexpr std::array<Stage, 7> kStages = {
    Stage::kQkv, Stage::kMha, Stage::kProj, Stage::kLn1, Stage::kFf1, Stage::kFf2, Stage::kLn2};

/// The stages in the order in which a forward pass runs them.
std::array<Stage, kStages.size()> stages_in_order(NormPlace norm);

/// "qkv", "mha", "proj", "ln1", "ff1", "ff2", "ln2"
std::string_view name_of(Stage stage);

/// kRows goes over rows or elements; the launches of kAttention are the kernel's own.
enum class StepKind { kProduct, kRows, kAttention };

/// A tensor in device memory. Activations are fp16, [tokens, ...]; lse is fp32.
struct LayerTensor {
  std::string name;
  std::uint64_t bytes = 0;
  bool is_weight = false;  // the weights themselves, which are there before and after
};

struct LayerStep {
  Stage stage = Stage::kQkv;
  StepKind kind = StepKind::kRows;
  std::string_view name;
  bool is_backward = false;
  std::uint64_t flops = 0;  // of products, and the attention's useful ones
  std::vector<LayerTensor> reads, writes;
  std::uint64_t least_extent = 0;  // of a product's three; 0: not known

  /// Read and written, each once.
  std::uint64_t bytes() const;
};

/// The launches of a forward pass, or of a forward and a backward pass (a backward pass by itself
/// begins with what its forward pass left). Dropout masks are drawn again wherever they are used,
/// and take no memory. Q, K and V come from one product over three weights and are slices of
/// [tokens, 3 hidden], which an attention reads in place. A fused backward pass adds the residual's
/// gradient in a product, and sums for gamma, beta and biases in the kernels that read the
/// summands. The gradients of weights stay to the end. Throws std::invalid_argument if
/// why_no_layer() gives a reason.
std::vector<LayerStep> layer_steps(const LayerShape& shape, const Problem& problem, Pass pass);

/// FLOPs of the attention's useful products: two forward, five backward.
std::uint64_t attention_flops(const Problem& problem, bool is_backward);

/// fp16 weights and biases, and gamma and beta.
std::uint64_t weight_bytes(const LayerShape& shape);

}  // namespace sparkbench
