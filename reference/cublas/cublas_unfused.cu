#include "reference/cublas/cublas_unfused.h"

#include <stdexcept>
#include <utility>

#include "kernels/base/round_up.h"
#include "reference/cublas/pattern_bits.h"
#include "reference/cublas/precision_copy.cuh"
#include "reference/cublas/unfused_chain.cuh"

namespace sparkbench {
namespace {

constexpr int kForwardTensors = 5;  // q k v P O

TensorView<const __half> halves(const TensorView<const Bits16>& tensor) {
  return {reinterpret_cast<const __half*>(tensor.data), tensor.batch_stride, tensor.seqlen_stride,
          tensor.head_stride};
}
TensorView<__half> halves(const TensorView<Bits16>& tensor) {
  return {reinterpret_cast<__half*>(tensor.data), tensor.batch_stride, tensor.seqlen_stride,
          tensor.head_stride};
}

CopyExtents query_extents(const Problem& problem) {
  return {problem.batch, problem.seqlen_q, problem.heads, problem.head_dim};
}
CopyExtents key_extents(const Problem& problem) {
  return {problem.batch, problem.seqlen_k, problem.key_heads(), problem.head_dim};
}

/// A contiguous fp32 copy of a tensor, in the workspace.
TensorView<float> wide_view(const CopyExtents& extents, float* data) {
  return contiguous_view(data, extents.seqlen, extents.heads, extents.head_dim);
}
TensorView<const float> read_only(const TensorView<float>& tensor) { return tensor; }

/// Byte offsets in the workspace.
struct Layout {
  Layout(const Problem& problem, UnfusedPrecision precision, Pass pass,
         bool has_own_cublas = true) {
    const bool is_wide = precision == UnfusedPrecision::kFp32;
    const bool is_training = pass == Pass::kBackward;
    const std::size_t element_bytes = is_wide ? sizeof(float) : sizeof(Half);
    row_stride = round_up(static_cast<std::size_t>(problem.seqlen_k), 16 / element_bytes);
    const std::size_t score_bytes = problem.lse_elements() * row_stride * element_bytes;
    dropped_p = place(score_bytes);
    p = is_training && problem.dropout().threshold != 0 ? place(score_bytes) : dropped_p;
    dp = place(is_training ? score_bytes : 0);
    has_groups = is_training && problem.group_size() > 1;
    key_gradients =
        place(has_groups ? problem.group_size() * problem.k_elements() * sizeof(float) : 0);
    forward_heads = place(head_pointer_bytes(problem.batch, problem.heads, kForwardTensors));
    backward_heads =
        place(is_training ? head_pointer_bytes(problem.batch, problem.heads, kMostHeadTensors) : 0);
    cublas = place(has_own_cublas ? kUnfusedCublasBytes : 0);
    bits = place(bits_bytes(problem));
    const std::size_t q_bytes = is_wide ? problem.q_elements() * sizeof(float) : 0;
    const std::size_t k_bytes = is_wide ? problem.k_elements() * sizeof(float) : 0;
    q = place(q_bytes);
    k = place(k_bytes);
    v = place(k_bytes);
    o = place(q_bytes);
    d_o = place(is_training ? q_bytes : 0);
    dq = place(is_training ? q_bytes : 0);
    dk = place(is_training ? k_bytes : 0);
    dv = place(is_training ? k_bytes : 0);
  }

  std::size_t row_stride;  // elements
  bool has_groups;         // dK and dV are summed over the heads of a group
  std::size_t dropped_p, p, dp, key_gradients, forward_heads, backward_heads, cublas, bits;
  std::size_t q, k, v, o, d_o, dq, dk, dv;  // fp32 copies
  std::size_t total = 0;

 private:
  std::size_t place(std::size_t bytes) {
    const std::size_t offset = total;
    total += round_up(bytes, std::size_t{256});
    return offset;
  }
};

}  // namespace

std::size_t cublas_unfused_workspace_bytes(const Problem& problem, UnfusedPrecision precision,
                                           Pass pass) {
  return Layout(problem, precision, pass).total;
}

std::shared_ptr<cublasContext> make_cublas_handle() {
  cublasHandle_t created = nullptr;
  check_cublas(cublasCreate(&created), "cublasCreate");
  std::shared_ptr<cublasContext> handle(created, cublasDestroy);
  // Default math excludes TF32. The flag keeps split-k sums in fp32 instead of the type of C.
  check_cublas(cublasSetMathMode(created, static_cast<cublasMath_t>(
                                              CUBLAS_DEFAULT_MATH |
                                              CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
               "cublasSetMathMode");
  return handle;
}

std::shared_ptr<std::byte> allocate_on_device(std::size_t bytes) {
  std::byte* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, bytes));
  return {memory, [](std::byte* to_free) { cudaFree(to_free); }};
}

CublasUnfused::CublasUnfused(const Problem& problem, UnfusedPrecision precision, Pass pass,
                             std::shared_ptr<cublasContext> handle, UnfusedPlace place)
    : problem_(problem),
      precision_(precision),
      pass_(pass),
      handle_(std::move(handle)),
      place_(std::move(place)),
      workspace_(allocate_on_device(workspace_bytes())) {
  CUDA_CHECK(cudaMemset(workspace_.get(), 0, workspace_bytes()));  // the padding of S is read
  if (problem.sparse) {
    const Layout layout(problem, precision, pass, place_.cublas_workspace == nullptr);
    CUDA_CHECK(cudaMemcpy(part<std::byte>(layout.bits), pattern_words(problem).data(),
                          bits_bytes(problem), cudaMemcpyHostToDevice));
  }
  CUDA_CHECK(cudaDeviceSynchronize());  // a non-blocking stream would not wait for the memset
}

std::size_t CublasUnfused::workspace_bytes() const {
  return Layout(problem_, precision_, pass_, place_.cublas_workspace == nullptr).total;
}

cublasContext* CublasUnfused::handle_on(cudaStream_t stream) const {
  std::byte* const memory = place_.cublas_workspace
                                ? place_.cublas_workspace.get()
                                : part<std::byte>(Layout(problem_, precision_, pass_).cublas);
  check_cublas(cublasSetStream(handle_.get(), stream), "cublasSetStream");  // resets the workspace
  check_cublas(cublasSetWorkspace(handle_.get(), memory, kUnfusedCublasBytes),
               "cublasSetWorkspace");
  return handle_.get();
}

const float* CublasUnfused::o_fp32() const {
  if (precision_ == UnfusedPrecision::kFp16) return nullptr;
  return part<float>(Layout(problem_, precision_, pass_, place_.cublas_workspace == nullptr).o);
}

PatternBits CublasUnfused::pattern_bits(std::size_t offset) const {
  if (!problem_.sparse) return {};
  return {part<std::uint8_t>(offset), union_count(problem_), problem_.heads,
          static_cast<int>(bits_row_bytes(problem_))};
}

template <class T>
UnfusedWorkspace<T> CublasUnfused::workspace() {
  const Layout layout(problem_, precision_, pass_, place_.cublas_workspace == nullptr);
  return {layout.row_stride,
          part<T>(layout.dropped_p),
          part<T>(layout.p),
          part<T>(layout.dp),
          layout.has_groups ? part<float>(layout.key_gradients) : nullptr,
          {part<std::byte*>(layout.forward_heads), &forward_heads_},
          {part<std::byte*>(layout.backward_heads), &backward_heads_},
          place_.first_head,
          place_.lse_stride != 0 ? place_.lse_stride : problem_.seqlen_q,
          pattern_bits(layout.bits)};
}

void CublasUnfused::forward(const ForwardTensors& tensors, cudaStream_t stream,
                            const AfterPart& after_part) {
  const Layout layout(problem_, precision_, pass_, place_.cublas_workspace == nullptr);
  const ChainQueue queue{handle_on(stream), stream, after_part};
  const UnfusedInputs<__half> inputs = {halves(tensors.q), halves(tensors.k), halves(tensors.v)};
  has_forward_ = true;
  if (precision_ == UnfusedPrecision::kFp16) {
    const UnfusedChain<__half> chain(problem_, workspace<__half>(), queue);
    chain.forward(inputs, halves(tensors.o), tensors.lse);
    return;
  }
  const CopyExtents queries = query_extents(problem_), keys = key_extents(problem_);
  const auto q = wide_view(queries, part<float>(layout.q));
  const auto k = wide_view(keys, part<float>(layout.k));
  const auto v = wide_view(keys, part<float>(layout.v));
  const auto o = wide_view(queries, part<float>(layout.o));
  copy_precision(inputs.q, q, queries, stream);
  copy_precision(inputs.k, k, keys, stream);
  copy_precision(inputs.v, v, keys, stream);
  const UnfusedChain<float> chain(problem_, workspace<float>(), queue);
  chain.forward({q, k, v}, o, tensors.lse);
  copy_precision(read_only(o), halves(tensors.o), queries, stream);
}

void CublasUnfused::backward(const BackwardTensors& tensors, cudaStream_t stream,
                             const AfterPart& after_part) {
  if (pass_ != Pass::kBackward) throw std::logic_error("made for forward passes: P is not kept");
  if (!has_forward_)
    throw std::logic_error("a backward pass takes P from a forward pass before it");
  const Layout layout(problem_, precision_, pass_, place_.cublas_workspace == nullptr);
  const ChainQueue queue{handle_on(stream), stream, after_part};
  if (precision_ == UnfusedPrecision::kFp16) {
    const UnfusedChain<__half> chain(problem_, workspace<__half>(), queue);
    chain.backward({halves(tensors.q), halves(tensors.k), halves(tensors.v)}, halves(tensors.d_o),
                   {halves(tensors.dq), halves(tensors.dk), halves(tensors.dv)});
    return;
  }
  const CopyExtents queries = query_extents(problem_), keys = key_extents(problem_);
  const UnfusedInputs<float> inputs = {wide_view(queries, part<float>(layout.q)),
                                       wide_view(keys, part<float>(layout.k)),
                                       wide_view(keys, part<float>(layout.v))};  // from forward
  const UnfusedGradients<float> gradients = {wide_view(queries, part<float>(layout.dq)),
                                             wide_view(keys, part<float>(layout.dk)),
                                             wide_view(keys, part<float>(layout.dv))};
  const auto d_o = wide_view(queries, part<float>(layout.d_o));
  copy_precision(halves(tensors.d_o), d_o, queries, stream);
  const UnfusedChain<float> chain(problem_, workspace<float>(), queue);
  chain.backward(inputs, d_o, gradients);
  copy_precision(read_only(gradients.dq), halves(tensors.dq), queries, stream);
  copy_precision(read_only(gradients.dk), halves(tensors.dk), keys, stream);
  copy_precision(read_only(gradients.dv), halves(tensors.dv), keys, stream);
}

}  // namespace sparkbench
