#include "reference/cublas/cublas_unfused.h"

#include <stdexcept>
#include <utility>

#include "reference/cublas/precision_copy.cuh"
#include "reference/cublas/unfused_chain.cuh"

namespace sparkbench {
namespace {

/// What NVIDIA recommends on Hopper, more than cuBLAS takes elsewhere. Ours, so that it is counted.
constexpr std::size_t kCublasWorkspaceBytes = std::size_t{32} << 20;

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

const __half* halves(const Half* tensor) { return reinterpret_cast<const __half*>(tensor); }
__half* halves(Half* tensor) { return reinterpret_cast<__half*>(tensor); }

/// Byte offsets of the parts of the workspace.
struct Layout {
  Layout(const Problem& problem, UnfusedPrecision precision, Pass pass) {
    const bool is_wide = precision == UnfusedPrecision::kFp32;
    const bool is_training = pass == Pass::kBackward;
    const std::size_t element_bytes = is_wide ? sizeof(float) : sizeof(Half);
    row_stride = round_up(static_cast<std::size_t>(problem.seqlen_k), 16 / element_bytes);
    const std::size_t score_bytes = problem.lse_elements() * row_stride * element_bytes;
    dropped_p = place(score_bytes);
    p = is_training && problem.dropout().threshold != 0 ? place(score_bytes) : dropped_p;
    dp = place(is_training ? score_bytes : 0);
    head_pointers = place(head_pointer_bytes(problem.batch, problem.heads));
    cublas = place(kCublasWorkspaceBytes);
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
  std::size_t dropped_p, p, dp, head_pointers, cublas;
  std::size_t q, k, v, o, d_o, dq, dk, dv;  // fp32 copies
  std::size_t total = 0;

 private:
  std::size_t place(std::size_t bytes) {
    const std::size_t offset = total;
    total += round_up(bytes, 256);
    return offset;
  }
};

template <class T>
UnfusedWorkspace<T> workspace_of(const Layout& layout, std::byte* base) {
  const auto part = [base](std::size_t offset) { return reinterpret_cast<T*>(base + offset); };
  return {layout.row_stride, part(layout.dropped_p), part(layout.p), part(layout.dp),
          reinterpret_cast<std::byte**>(base + layout.head_pointers)};
}

}  // namespace

std::size_t cublas_unfused_workspace_bytes(const Problem& problem, UnfusedPrecision precision,
                                           Pass pass) {
  return Layout(problem, precision, pass).total;
}

std::shared_ptr<cublasContext> make_cublas_handle() {
  cublasHandle_t created = nullptr;
  check_cublas(cublasCreate(&created), "cublasCreate");
  std::shared_ptr<cublasContext> handle(created, cublasDestroy);
  // Default math is without TF32; sums of split k stay in fp32, not in the type of C.
  check_cublas(cublasSetMathMode(created, static_cast<cublasMath_t>(
                                              CUBLAS_DEFAULT_MATH |
                                              CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
               "cublasSetMathMode");
  return handle;
}

void CublasUnfused::DeviceDeleter::operator()(std::byte* memory) const { cudaFree(memory); }

CublasUnfused::CublasUnfused(const Problem& problem, UnfusedPrecision precision, Pass pass,
                             std::shared_ptr<cublasContext> handle)
    : problem_(problem), precision_(precision), pass_(pass), handle_(std::move(handle)) {
  std::byte* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, workspace_bytes()));
  workspace_.reset(memory);
  CUDA_CHECK(cudaMemset(memory, 0, workspace_bytes()));  // the padding of S is read
}

cublasContext* CublasUnfused::handle_on(cudaStream_t stream) const {
  const Layout layout(problem_, precision_, pass_);
  check_cublas(cublasSetStream(handle_.get(), stream), "cublasSetStream");  // forgets the workspace
  check_cublas(
      cublasSetWorkspace(handle_.get(), part<std::byte>(layout.cublas), kCublasWorkspaceBytes),
      "cublasSetWorkspace");
  return handle_.get();
}

const float* CublasUnfused::o_fp32() const {
  if (precision_ == UnfusedPrecision::kFp16) return nullptr;
  return part<float>(Layout(problem_, precision_, pass_).o);
}

void CublasUnfused::forward(const ForwardTensors& tensors, cudaStream_t stream) {
  const Layout layout(problem_, precision_, pass_);
  const UnfusedInputs<__half> inputs = {halves(tensors.q.data), halves(tensors.k.data),
                                        halves(tensors.v.data)};
  has_forward_ = true;
  if (precision_ == UnfusedPrecision::kFp16) {
    const auto workspace = workspace_of<__half>(layout, workspace_.get());
    const UnfusedChain<__half> chain(problem_, workspace, handle_on(stream), stream);
    chain.forward(inputs, halves(tensors.o.data), tensors.lse);
    return;
  }
  float *const q = part<float>(layout.q), *const k = part<float>(layout.k),
               *const v = part<float>(layout.v), *const o = part<float>(layout.o);
  copy_precision(inputs.q, q, problem_.q_elements(), stream);
  copy_precision(inputs.k, k, problem_.k_elements(), stream);
  copy_precision(inputs.v, v, problem_.k_elements(), stream);
  const auto workspace = workspace_of<float>(layout, workspace_.get());
  const UnfusedChain<float> chain(problem_, workspace, handle_on(stream), stream);
  chain.forward({q, k, v}, o, tensors.lse);
  copy_precision(o, halves(tensors.o.data), problem_.q_elements(), stream);
}

void CublasUnfused::backward(const BackwardTensors& tensors, cudaStream_t stream) {
  if (pass_ != Pass::kBackward) throw std::logic_error("made for forward passes: P is not kept");
  if (!has_forward_)
    throw std::logic_error("a backward pass takes P from a forward pass before it");
  const Layout layout(problem_, precision_, pass_);
  if (precision_ == UnfusedPrecision::kFp16) {
    const auto workspace = workspace_of<__half>(layout, workspace_.get());
    const UnfusedChain<__half> chain(problem_, workspace, handle_on(stream), stream);
    chain.backward({halves(tensors.q.data), halves(tensors.k.data), halves(tensors.v.data)},
                   halves(tensors.d_o.data),
                   {halves(tensors.dq.data), halves(tensors.dk.data), halves(tensors.dv.data)});
    return;
  }
  const UnfusedInputs<float> inputs = {part<float>(layout.q), part<float>(layout.k),
                                       part<float>(layout.v)};  // widened by the forward
  const UnfusedGradients<float> gradients = {part<float>(layout.dq), part<float>(layout.dk),
                                             part<float>(layout.dv)};
  copy_precision(halves(tensors.d_o.data), part<float>(layout.d_o), problem_.q_elements(), stream);
  const auto workspace = workspace_of<float>(layout, workspace_.get());
  const UnfusedChain<float> chain(problem_, workspace, handle_on(stream), stream);
  chain.backward(inputs, part<float>(layout.d_o), gradients);
  copy_precision(gradients.dq, halves(tensors.dq.data), problem_.q_elements(), stream);
  copy_precision(gradients.dk, halves(tensors.dk.data), problem_.k_elements(), stream);
  copy_precision(gradients.dv, halves(tensors.dv.data), problem_.k_elements(), stream);
}

}  // namespace sparkbench
