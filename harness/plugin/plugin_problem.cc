#include "harness/plugin/plugin_problem.h"

#include <algorithm>
#include <array>

#include "kernels/mask/pattern/sparse_mask.h"

namespace sparkbench {
namespace {

constexpr std::int32_t kNoBound = -1;

struct MaskFields {
  sparkbench_mask_kind kind;
  std::int32_t left, right, prefix;
};

MaskFields mask_fields_of(const Problem& problem) {
  if (problem.sparse) return {SPARKBENCH_MASK_PATTERN, kNoBound, kNoBound, 0};
  const MaskSpec& mask = problem.mask;
  switch (mask.kind) {
    case MaskKind::kFull:
      return {SPARKBENCH_MASK_FULL, kNoBound, kNoBound, 0};
    case MaskKind::kCausal:
      return {SPARKBENCH_MASK_BAND, kNoBound, 0, 0};
    case MaskKind::kWindow:
      return {SPARKBENCH_MASK_BAND, mask.first - 1, 0, 0};
    case MaskKind::kBand:
      return {SPARKBENCH_MASK_BAND, mask.first, mask.second, 0};
    case MaskKind::kPrefix:
      return {SPARKBENCH_MASK_PREFIX, kNoBound, kNoBound, mask.first};
  }
  throw std::logic_error("a mask of no known kind");
}

}  // namespace

sparkbench_dtype dtype_of(ElementType element) {
  return element == ElementType::kBf16 ? SPARKBENCH_BF16 : SPARKBENCH_FP16;
}

namespace {

sparkbench_pass pass_of(Pass pass) {
  if (pass == Pass::kForward) return SPARKBENCH_FORWARD;
  return pass == Pass::kBackward ? SPARKBENCH_BACKWARD : SPARKBENCH_FORWARD_BACKWARD;
}

sparkbench_layout layout_of(TensorLayout layout) {
  constexpr std::array kLayouts = {SPARKBENCH_BSHD, SPARKBENCH_BHSD, SPARKBENCH_QKV_PACKED,
                                   SPARKBENCH_K_BHSD};  // in the order of TensorLayout
  return kLayouts.at(static_cast<std::size_t>(layout));
}

sparkbench_activation activation_of(Activation activation) {
  if (activation == Activation::kRelu) return SPARKBENCH_RELU;
  return activation == Activation::kGeluErf ? SPARKBENCH_GELU_ERF : SPARKBENCH_GELU_TANH;
}

sparkbench_layer layer_of(const LayerShape& shape) {
  sparkbench_layer layer{};
  layer.struct_bytes = sizeof layer;
  layer.hidden = shape.hidden;
  layer.ffn = shape.ffn;
  layer.activation = activation_of(shape.activation);
  layer.is_pre_norm = shape.norm == NormPlace::kPre ? 1 : 0;
  layer.has_bias = shape.bias ? 1 : 0;
  layer.rest_is_fused = shape.rest == Rest::kFused ? 1 : 0;
  return layer;
}

sparkbench_input input_of(const TensorView<const Bits16>& view) {
  return {view.data, view.batch_stride, view.seqlen_stride, view.head_stride};
}

sparkbench_output output_of(const TensorView<Bits16>& view) {
  return {view.data, view.batch_stride, view.seqlen_stride, view.head_stride};
}

}  // namespace

PluginProblem::PluginProblem(const Problem& problem, const TensorFormat& format, Pass pass,
                             bool is_deterministic, const PluginDevice& device,
                             const LayerShape* layer)
    : problem_(problem), mask_(problem.sparse ? problem.sparse->spec : name_of(problem.mask)) {
  if (!problem_.sparse) {
    const int count = problem_.lengths ? problem_.batch : 1;
    for (int i = 0; i < count; ++i) masks_.push_back(problem_.key_mask_of(i));
  }
  const MaskFields mask = mask_fields_of(problem_);
  const Dropout dropout = problem_.dropout();
  c_.struct_bytes = sizeof c_;
  c_.backend = device.backend;
  c_.sm = device.sm;
  c_.device = device.index;
  c_.dtype = dtype_of(format.element);
  c_.pass = pass_of(pass);
  c_.batch = problem_.batch;
  c_.heads = problem_.heads;
  c_.heads_k = problem_.key_heads();
  c_.seqlen_q = problem_.seqlen_q;
  c_.seqlen_k = problem_.seqlen_k;
  c_.head_dim = problem_.head_dim;
  c_.softmax_scale = problem_.scale();
  c_.deterministic = is_deterministic ? 1 : 0;
  c_.mask_kind = mask.kind;
  c_.mask_left = mask.left;
  c_.mask_right = mask.right;
  c_.mask_prefix = mask.prefix;
  c_.mask = mask_.c_str();
  c_.sees = sees;
  c_.mask_context = this;
  c_.dropout_p = dropout.applied_p();
  c_.dropout_scale = dropout.keep_scale;
  c_.seed = problem_.seed;
  c_.dropout_offset = problem_.dropout_offset;
  if (problem_.lengths) {
    c_.cu_seqlens_q = problem_.lengths->cu_seqlens_q().data();
    c_.cu_seqlens_k = problem_.lengths->cu_seqlens_k().data();
  }
  c_.total_q = static_cast<std::int64_t>(problem_.total_q());
  c_.total_k = static_cast<std::int64_t>(problem_.total_k());
  c_.sees_keys = sees_keys;
  c_.mask_per_head = problem_.sparse && problem_.sparse->pattern.unions.size() > 1 ? 1 : 0;
  c_.layout = layout_of(format.layout);
  if (layer == nullptr) return;
  layer_ = layer_of(*layer);
  c_.layer = &layer_;
}

int32_t PluginProblem::sees(const void* mask_context, int32_t sequence, int32_t head, int32_t q,
                            int32_t k) {
  const auto& self = *static_cast<const PluginProblem*>(mask_context);
  const Problem& problem = self.problem_;
  const auto is_index = [](int32_t value, int extent) { return value >= 0 && value < extent; };
  if (!is_index(sequence, problem.batch) || !is_index(head, problem.heads) ||
      !is_index(q, problem.seqlen_q_of(sequence)) || !is_index(k, problem.seqlen_k_of(sequence))) {
    return 0;
  }
  if (problem.sparse) return sparkbench::sees(problem.sparse->pattern, head, q, k) ? 1 : 0;
  const std::size_t mask = problem.lengths ? static_cast<std::size_t>(sequence) : 0;
  return self.masks_[mask].sees(q, k) ? 1 : 0;
}

void PluginProblem::sees_keys(const void* mask_context, int32_t sequence, int32_t head, int32_t q,
                              uint8_t* seen) {
  const auto& self = *static_cast<const PluginProblem*>(mask_context);
  const Problem& problem = self.problem_;
  const bool is_known = sequence >= 0 && sequence < problem.batch;
  const int keys = is_known ? problem.seqlen_k_of(sequence) : 0;
  if (!problem.sparse) {
    for (int k = 0; k < keys; ++k) {
      seen[k] = static_cast<uint8_t>(sees(mask_context, sequence, head, q, k));
    }
    return;
  }
  constexpr int kBits = 64;
  for (int first = 0; first < keys; first += kBits) {
    const std::uint64_t word = key_word(problem.sparse->pattern, head, q, first);
    for (int i = 0; i < std::min(kBits, keys - first); ++i) {
      seen[first + i] = static_cast<uint8_t>(word >> i & 1);
    }
  }
}

sparkbench_tensors plugin_tensors(const ForwardTensors& forward, const BackwardTensors& backward,
                                  const PackedLengths& lengths) {
  sparkbench_tensors tensors{};
  tensors.struct_bytes = sizeof tensors;
  tensors.q = input_of(forward.q);
  tensors.k = input_of(forward.k);
  tensors.v = input_of(forward.v);
  tensors.o = output_of(forward.o);
  tensors.lse = forward.lse;
  tensors.d_o = input_of(backward.d_o);
  tensors.dq = output_of(backward.dq);
  tensors.dk = output_of(backward.dk);
  tensors.dv = output_of(backward.dv);
  tensors.cu_seqlens_q = lengths.cu_seqlens_q;
  tensors.cu_seqlens_k = lengths.cu_seqlens_k;
  return tensors;
}

void take_outputs_away(sparkbench_tensors& tensors) {
  for (sparkbench_output* output : {&tensors.o, &tensors.dq, &tensors.dk, &tensors.dv}) {
    output->data = nullptr;
  }
  tensors.lse = nullptr;
}

OwnOutputs own_outputs(const sparkbench_tensors& tensors) {
  const auto view_of = [](const sparkbench_output& output) -> TensorView<Half> {
    return {static_cast<Half*>(output.data), output.batch_stride, output.seqlen_stride,
            output.head_stride};
  };
  return {view_of(tensors.o), view_of(tensors.dq), view_of(tensors.dk), view_of(tensors.dv),
          tensors.lse};
}

}  // namespace sparkbench
