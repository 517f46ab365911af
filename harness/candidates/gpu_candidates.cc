#include "harness/candidates/gpu_candidates.h"

#include <utility>

#include "harness/candidates/gpu_libraries.h"
#include "harness/candidates/known_candidates.h"
#include "kernels/base/saturating.h"
#include "kernels/machine/emulated/tensor_core/chip_arithmetic.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "reference/cublas/cublas_unfused.h"
#include "reference/cublas/packed_unfused.h"
#include "reference/cudnn/attention.h"
#include "sweeps/memory.h"

namespace sparkbench {
namespace {

/// The parts of it that a candidate needs when it runs.
struct TensorsOfWork {
  explicit TensorsOfWork(const GpuWork& work)
      : pass(work.options.pass),
        forward(work.forward),
        backward(work.backward),
        stream(work.stream) {}

  Pass pass;
  ForwardTensors forward;
  BackwardTensors backward;
  CUstream_st* stream;
};

/// Both attentions are enqueued in the same way.
template <class Attention>
Prepared enqueue(std::shared_ptr<Attention> attention, const GpuWork& work) {
  return {[attention, tensors = work.forward, stream = work.stream] {
            attention->forward(tensors, stream);
          },
          [attention, tensors = work.backward, stream = work.stream] {
            attention->backward(tensors, stream);
          },
          attention->workspace_bytes()};
}

class CublasReference : public Candidate {
 public:
  CublasReference(const CandidateInfo& info, UnfusedPrecision precision, int sm)
      : Candidate(info), precision_(precision), sm_(sm) {}

  Support supports(const Problem& /*problem*/, Pass /*pass*/) const override { return {}; }
  std::uint64_t workspace_bytes(const Problem& problem, Pass pass,
                                bool /*is_deterministic*/) const override {
    const int score_bytes = precision_ == UnfusedPrecision::kFp32 ? sizeof(float) : sizeof(Half);
    return saturating_sum(
        {unfused_workspace_bytes(pass, problem, score_bytes), kCublasWorkspaceBytes});
  }
  const ArithmeticProfile& arithmetic() const override { return tensor_core_profile(sm_); }
  Libraries libraries() const override { return {{"cublas", cublas_version()}}; }
  Prepared prepare(const GpuWork& work) const override {
    const Pass pass = work.options.pass == Pass::kForward ? Pass::kForward : Pass::kBackward;
    if (work.problem.lengths) {
      Prepared prepared = enqueue(
          std::make_shared<PackedCublasUnfused>(work.problem, precision_, pass, work.cublas), work);
      prepared.backward_needs_forward = true;
      return prepared;
    }
    const auto unfused =
        std::make_shared<CublasUnfused>(work.problem, precision_, pass, work.cublas);
    Prepared prepared = enqueue(unfused, work);
    prepared.backward_needs_forward = true;  // it keeps P
    prepared.in_parts = [unfused, work = TensorsOfWork(work)](const AfterPart& after_part) {
      if (work.pass != Pass::kBackward) unfused->forward(work.forward, work.stream, after_part);
      if (work.pass != Pass::kForward) unfused->backward(work.backward, work.stream, after_part);
    };
    return prepared;
  }

 private:
  UnfusedPrecision precision_;
  int sm_;
};

class CudnnKernel : public Candidate {
 public:
  explicit CudnnKernel(int sm) : Candidate(kCudnn), sm_(sm) {}

  /// It declines other problems when its graph is built: prepare().
  Support supports(const Problem& problem, Pass /*pass*/) const override {
    if (problem.lengths && !has_packed_cudnn_attention(sm_)) {
      return {"cudnn: packed sequences need compute capability 9.0"};
    }
    if (problem.sparse) {
      return {
          "cudnn: the graphs here hide keys by two diagonals (causal, window, band), and take "
          "no pattern " +
          problem.sparse->spec};
    }
    return {};
  }
  /// Unknown: cuDNN chooses an engine, and so its workspace, when its graph is built. A run
  /// measures it.
  std::uint64_t workspace_bytes(const Problem& /*problem*/, Pass /*pass*/,
                                bool /*is_deterministic*/) const override {
    return 0;
  }
  const ArithmeticProfile& arithmetic() const override { return tensor_core_profile(sm_); }
  bool draws_own_dropout_mask() const override { return true; }
  Libraries libraries() const override { return {{"cudnn", cudnn_version().value()}}; }
  Prepared prepare(const GpuWork& work) const override {
    const bool has_backward = work.options.pass != Pass::kForward;
    return enqueue(std::make_shared<CudnnAttention>(
                       work.problem, work.options.pass, work.options.is_deterministic,
                       attention_strides(work.forward, has_backward ? &work.backward : nullptr)),
                   work);
  }

 private:
  int sm_;
};

}  // namespace

void add_gpu_references(int sm, OwnedCandidates& candidates) {
  candidates.push_back(std::make_unique<CublasReference>(kCublasFp16, UnfusedPrecision::kFp16, sm));
  candidates.push_back(std::make_unique<CublasReference>(kCublasFp32, UnfusedPrecision::kFp32, sm));
}

void add_vendor_kernels(int sm, OwnedCandidates& candidates) {
  if (has_cudnn_attention(sm)) candidates.push_back(std::make_unique<CudnnKernel>(sm));
}

}  // namespace sparkbench
