#include "reference/cudnn/attention.h"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

#include "kernels/unsupported_error.h"

namespace sparkbench {
namespace {

constexpr int kFirstSm = 80;
/// Before it the caller clears the sums of dQ (cudnn-frontend, same node).
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

/// dK or dV of every head, where heads share keys.
std::size_t bytes_of_heads(const Problem& problem) {
  const auto group_size = static_cast<std::size_t>(problem.group_size());
  return group_size == 1 ? 0 : group_size * problem.k_elements() * sizeof(Half);
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

CudnnAttention::CudnnAttention(const Problem& problem, Pass pass, bool is_deterministic,
                               const cudnn::AttentionStrides& strides)
    : api_(require_api()),
      problem_(require_graph(problem, api_.version())),
      strides_(strides),
      handle_(api_),
      forward_(make_forward()),
      backward_(make_backward(pass, is_deterministic)),
      workspace_(std::max(forward_.workspace_bytes(),
                          backward_ ? backward_->workspace_bytes() : std::size_t{0})),
      seed_(2 * sizeof(std::int64_t)),
      delta_(backward_ ? problem.lse_elements() * sizeof(float) : 0),
      dq_sum_(backward_ && !is_deterministic ? problem.q_elements() * sizeof(float) : 0),
      dk_of_heads_(backward_ ? bytes_of_heads(problem) : 0),
      dv_of_heads_(backward_ ? bytes_of_heads(problem) : 0) {
  const std::array<std::int64_t, 2> seed_and_offset = {static_cast<std::int64_t>(problem.seed), 0};
  CUDA_CHECK(cudaMemcpy(seed_.as<void>(), seed_and_offset.data(), sizeof seed_and_offset,
                        cudaMemcpyHostToDevice));
}

cudnn::Plan CudnnAttention::make_forward() const {
  auto graph = std::make_unique<cudnn::Graph>(api_);
  add_forward(*graph, {problem_, strides_, api_.version()});
  return cudnn::Plan(api_, handle_, std::move(graph));
}

std::optional<cudnn::Plan> CudnnAttention::make_backward(Pass pass, bool is_deterministic) const {
  if (pass == Pass::kForward) return std::nullopt;
  auto graph = std::make_unique<cudnn::Graph>(api_);
  add_backward(*graph, {problem_, strides_, api_.version()}, is_deterministic);
  return std::optional<cudnn::Plan>(std::in_place, api_, handle_, std::move(graph));
}

std::size_t CudnnAttention::workspace_bytes() const {
  return workspace_.bytes() + seed_.bytes() + delta_.bytes() + dq_sum_.bytes() +
         dk_of_heads_.bytes() + dv_of_heads_.bytes();
}

void CudnnAttention::forward(const ForwardTensors& tensors, CUstream_st* stream) const {
  require_strides(strides_of(tensors.q) == strides_.q && strides_of(tensors.k) == strides_.k &&
                  strides_of(tensors.v) == strides_.v && strides_of(tensors.o) == strides_.o);
  const cudnn::Binding bindings[] = {{cudnn::kQ, memory(tensors.q.data)},
                                     {cudnn::kK, memory(tensors.k.data)},
                                     {cudnn::kV, memory(tensors.v.data)},
                                     {cudnn::kO, tensors.o.data},
                                     {cudnn::kLse, tensors.lse},
                                     {cudnn::kSeed, seed_.as<std::int64_t>()},
                                     {cudnn::kOffset, seed_.as<std::int64_t>() + 1}};
  const bool drops = problem_.dropout().threshold != 0;
  forward_.execute(std::span(bindings).first(drops ? 7 : 5), workspace_.as<void>(), stream);
}

void CudnnAttention::backward(const BackwardTensors& tensors, CUstream_st* stream) const {
  require_strides(cudnn::AttentionStrides{
                      strides_of(tensors.q), strides_of(tensors.k), strides_of(tensors.v),
                      strides_of(tensors.o), strides_of(tensors.d_o), strides_of(tensors.dq),
                      strides_of(tensors.dk), strides_of(tensors.dv)} == strides_);
  std::vector<cudnn::Binding> bindings = {
      {cudnn::kQ, memory(tensors.q.data)}, {cudnn::kK, memory(tensors.k.data)},
      {cudnn::kV, memory(tensors.v.data)}, {cudnn::kO, memory(tensors.o.data)},
      {cudnn::kLse, memory(tensors.lse)},  {cudnn::kDO, memory(tensors.d_o.data)},
      {cudnn::kDq, tensors.dq.data},       {cudnn::kDk, tensors.dk.data},
      {cudnn::kDv, tensors.dv.data},       {cudnn::kDelta, delta_.as<float>()},
  };
  if (dq_sum_.bytes() != 0) bindings.push_back({cudnn::kDqSum, dq_sum_.as<float>()});
  if (dk_of_heads_.bytes() != 0) {
    bindings.push_back({cudnn::kDkOfHeads, dk_of_heads_.as<void>()});
    bindings.push_back({cudnn::kDvOfHeads, dv_of_heads_.as<void>()});
  }
  if (problem_.dropout().threshold != 0) {
    bindings.push_back({cudnn::kSeed, seed_.as<std::int64_t>()});
    bindings.push_back({cudnn::kOffset, seed_.as<std::int64_t>() + 1});
  }
  if (api_.version() < kFirstVersionThatClears) {
    CUDA_CHECK(cudaMemsetAsync(dq_sum_.as<void>(), 0, dq_sum_.bytes(), stream));
  }
  backward_->execute(bindings, workspace_.as<void>(), stream);
}

}  // namespace sparkbench
