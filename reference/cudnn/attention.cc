#include "reference/cudnn/attention.h"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

#include "kernels/base/unsupported_error.h"
#include "reference/cudnn/supported_problems.h"

namespace sparkbench {
namespace {

constexpr int kFirstSm = 80;
constexpr int kFirstSmOfPackedSequences = 90;  // cudnn-frontend, sdpa_support_surface.h
/// Older versions require the caller to clear the sums of dQ (cudnn-frontend, same node).
constexpr std::size_t kFirstVersionThatClears = 90600;

cudnn::Api require_api() {
  if (const auto api = cudnn::load_api()) return *api;
  throw UnsupportedError("cuDNN: the dynamic loader finds no libcudnn.so.9");
}

/// cuDNN's bindings are not const.
template <class T>
void* memory(const T* tensor) {
  return const_cast<T*>(tensor);
}

Problem require_graph(const Problem& problem, std::size_t library_version) {
  if (const auto reason = cudnn::why_no_graph(problem, library_version)) {
    throw UnsupportedError("cuDNN does not support " + *reason);
  }
  return problem;
}

template <class T>
RowStrides strides_of(const TensorView<T>& view) {
  return {view.batch_stride, view.seqlen_stride, view.head_stride};
}

std::size_t bytes_of(const std::optional<cudnn::Plan>& plan) {
  return plan ? plan->workspace_bytes() : 0;
}

void require_strides(bool are_those_planned) {
  if (!are_those_planned) throw std::invalid_argument("tensors of other strides than planned");
}

}  // namespace

std::optional<std::string> cudnn_version() {
  const auto api = cudnn::load_api();
  return api ? std::optional(cudnn::spell_version(api->version())) : std::nullopt;
}

cudnn::AttentionStrides attention_strides(const ForwardTensors& forward,
                                          const BackwardTensors* backward) {
  cudnn::AttentionStrides strides{strides_of(forward.q),
                                  strides_of(forward.k),
                                  strides_of(forward.v),
                                  strides_of(forward.o),
                                  {},
                                  {},
                                  {},
                                  {}};
  if (backward == nullptr) return strides;
  strides.d_o = strides_of(backward->d_o);
  strides.dq = strides_of(backward->dq);
  strides.dk = strides_of(backward->dk);
  strides.dv = strides_of(backward->dv);
  return strides;
}

bool has_cudnn_attention(int sm) { return sm >= kFirstSm && cudnn::load_api().has_value(); }

bool has_packed_cudnn_attention(int sm) {
  return sm >= kFirstSmOfPackedSequences && has_cudnn_attention(sm);
}

CudnnAttention::CudnnAttention(const Problem& problem, Pass pass, bool is_deterministic,
                               const cudnn::AttentionStrides& strides)
    : api_(require_api()),
      problem_(require_graph(problem, api_.version())),
      strides_(strides),
      ragged_(make_ragged()),
      handle_(api_),
      forward_(make_forward()),
      backward_(make_backward(pass, is_deterministic)),
      workspace_(std::max(bytes_of(forward_), bytes_of(backward_))),
      seed_(2 * sizeof(std::int64_t)),
      delta_(backward_ ? cudnn::delta_elements(problem, ragged_batch()) * sizeof(float) : 0),
      dq_sum_(backward_ && !is_deterministic
                  ? cudnn::dq_sum_elements(problem, ragged_batch()) * sizeof(float)
                  : 0),
      dk_of_heads_(backward_ ? cudnn::elements_of_heads(problem, strides.dk) * sizeof(Half) : 0),
      dv_of_heads_(backward_ ? cudnn::elements_of_heads(problem, strides.dv) * sizeof(Half) : 0) {
  const std::array<std::int64_t, 2> seed_and_offset = {static_cast<std::int64_t>(problem.seed), 0};
  CUDA_CHECK(cudaMemcpy(seed_.as<void>(), seed_and_offset.data(), sizeof seed_and_offset,
                        cudaMemcpyHostToDevice));
}

std::optional<cudnn::RaggedMemory> CudnnAttention::make_ragged() const {
  if (!problem_.lengths) return std::nullopt;
  return std::optional<cudnn::RaggedMemory>(std::in_place, problem_, strides_);
}

const cudnn::RaggedBatch* CudnnAttention::ragged_batch() const {
  return ragged_ ? &ragged_->batch() : nullptr;
}

cudnn::AttentionPlan CudnnAttention::attention_plan() const {
  return {problem_, strides_, api_.version(), ragged_batch()};
}

std::optional<cudnn::Plan> CudnnAttention::make_forward() const {
  if (!has_pairs()) return std::nullopt;
  auto graph = std::make_unique<cudnn::Graph>(api_);
  add_forward(*graph, attention_plan());
  return std::optional<cudnn::Plan>(std::in_place, api_, handle_, std::move(graph));
}

std::optional<cudnn::Plan> CudnnAttention::make_backward(Pass pass, bool is_deterministic) const {
  if (pass == Pass::kForward || !has_pairs()) return std::nullopt;
  auto graph = std::make_unique<cudnn::Graph>(api_);
  add_backward(*graph, attention_plan(), is_deterministic);
  return std::optional<cudnn::Plan>(std::in_place, api_, handle_, std::move(graph));
}

std::size_t CudnnAttention::workspace_bytes() const {
  return workspace_.bytes() + seed_.bytes() + delta_.bytes() + dq_sum_.bytes() +
         dk_of_heads_.bytes() + dv_of_heads_.bytes() + (ragged_ ? ragged_->bytes() : 0);
}

std::vector<cudnn::Binding> CudnnAttention::own_bindings() const {
  std::vector<cudnn::Binding> bindings = {
      {cudnn::kSeed, seed_.as<std::int64_t>()},     {cudnn::kOffset, seed_.as<std::int64_t>() + 1},
      {cudnn::kDelta, delta_.as<void>()},           {cudnn::kDqSum, dq_sum_.as<void>()},
      {cudnn::kDkOfHeads, dk_of_heads_.as<void>()}, {cudnn::kDvOfHeads, dv_of_heads_.as<void>()}};
  if (ragged_) {
    bindings.insert(bindings.end(), ragged_->bindings().begin(), ragged_->bindings().end());
  }
  return bindings;
}

void CudnnAttention::forward(const ForwardTensors& tensors, CUstream_st* stream) const {
  require_strides(strides_of(tensors.q) == strides_.q && strides_of(tensors.k) == strides_.k &&
                  strides_of(tensors.v) == strides_.v && strides_of(tensors.o) == strides_.o);
  if (ragged_) {
    ragged_->blind_rows().clear(tensors.o, problem_.heads, problem_.head_dim, stream);
    ragged_->blind_rows().fill_lse(tensors.lse, problem_.heads, ragged_->batch().total_rows,
                                   stream);
  }
  if (!forward_) return;
  std::vector<cudnn::Binding> bindings = own_bindings();
  bindings.insert(bindings.end(), {{cudnn::kQ, memory(tensors.q.data)},
                                   {cudnn::kK, memory(tensors.k.data)},
                                   {cudnn::kV, memory(tensors.v.data)},
                                   {cudnn::kO, tensors.o.data},
                                   {cudnn::kLse, tensors.lse}});
  forward_->execute(bindings, workspace_.as<void>(), stream);
}

void CudnnAttention::backward(const BackwardTensors& tensors, CUstream_st* stream) const {
  require_strides(cudnn::AttentionStrides{
                      strides_of(tensors.q), strides_of(tensors.k), strides_of(tensors.v),
                      strides_of(tensors.o), strides_of(tensors.d_o), strides_of(tensors.dq),
                      strides_of(tensors.dk), strides_of(tensors.dv)} == strides_);
  if (ragged_) {
    ragged_->blind_rows().clear(tensors.dq, problem_.heads, problem_.head_dim, stream);
    ragged_->unread_keys().clear(tensors.dk, problem_.key_heads(), problem_.head_dim, stream);
    ragged_->unread_keys().clear(tensors.dv, problem_.key_heads(), problem_.head_dim, stream);
  }
  if (!backward_) return;
  std::vector<cudnn::Binding> bindings = own_bindings();
  bindings.insert(bindings.end(), {{cudnn::kQ, memory(tensors.q.data)},
                                   {cudnn::kK, memory(tensors.k.data)},
                                   {cudnn::kV, memory(tensors.v.data)},
                                   {cudnn::kO, memory(tensors.o.data)},
                                   {cudnn::kLse, memory(tensors.lse)},
                                   {cudnn::kDO, memory(tensors.d_o.data)},
                                   {cudnn::kDq, tensors.dq.data},
                                   {cudnn::kDk, tensors.dk.data},
                                   {cudnn::kDv, tensors.dv.data}});
  if (api_.version() < kFirstVersionThatClears) {
    CUDA_CHECK(cudaMemsetAsync(dq_sum_.as<void>(), 0, dq_sum_.bytes(), stream));
  }
  backward_->execute(bindings, workspace_.as<void>(), stream);
}

}  // namespace sparkbench
