#include "harness/gpu_problem.h"

#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/machine/cuda_resources.h"
#include "reference/cublas_unfused.h"

namespace sparkbench {
namespace {

constexpr int kPoisonByte = 0x7f;  // 0x7f7f is a NaN in fp16; 0x7f7f7f7f is 3e38 in fp32

std::size_t free_device_bytes() {
  std::size_t free_bytes = 0, total_bytes = 0;
  CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  return free_bytes;
}

template <class T>
void upload(const DeviceBuffer& buffer, std::span<const T> host) {
  CUDA_CHECK(cudaMemcpy(buffer.as<void>(), host.data(), host.size_bytes(), cudaMemcpyHostToDevice));
}

template <class T>
std::vector<T> download(const DeviceBuffer& buffer) {
  std::vector<T> host(buffer.bytes() / sizeof(T));
  CUDA_CHECK(cudaMemcpy(host.data(), buffer.as<void>(), buffer.bytes(), cudaMemcpyDeviceToHost));
  return host;
}

/// What a contender enqueues, and the memory that it took to be ready.
struct Prepared {
  std::function<void()> forward, backward;
  std::uint64_t workspace_bytes = 0;
};

/// dO and the gradients, where a backward pass is run.
struct GradientBuffers {
  GradientBuffers(const Problem& problem, const BackwardInputs& inputs)
      : d_o(inputs.d_o.size_bytes()),
        dq(problem.q_elements() * sizeof(Half)),
        dk(problem.k_elements() * sizeof(Half)),
        dv(problem.k_elements() * sizeof(Half)) {
    upload(d_o, inputs.d_o);
  }
  DeviceBuffer d_o, dq, dk, dv;
};

/// The outputs of a pass, whole; empty what it does not compute.
struct HostOutputs {
  std::vector<Half> o, dq, dk, dv;
  std::vector<float> lse;
};

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

bool same_bytes(const HostOutputs& a, const HostOutputs& b) {
  return same_bytes(a.o, b.o) && same_bytes(a.lse, b.lse) && same_bytes(a.dq, b.dq) &&
         same_bytes(a.dk, b.dk) && same_bytes(a.dv, b.dv);
}

class GpuProblem : public LoadedProblem {
 public:
  GpuProblem(const ProblemData& data, GradientData* gradients, GpuTimer& timer)
      : data_(data),
        gradients_(gradients),
        timer_(timer),
        free_before_(free_device_bytes()),
        q_(data.inputs().q.size_bytes()),
        k_(data.inputs().k.size_bytes()),
        v_(data.inputs().v.size_bytes()),
        o_(data.problem().q_elements() * sizeof(Half)),
        lse_(data.problem().lse_elements() * sizeof(float)) {
    upload(q_, data.inputs().q);
    upload(k_, data.inputs().k);
    upload(v_, data.inputs().v);
    if (gradients != nullptr) buffers_.emplace(data.problem(), gradients->inputs());
  }

  RunOutcome run(const Contender& contender, const RunOptions& options) override {
    const Prepared prepared = prepare(contender, options);
    if (options.pass == Pass::kBackward) {
      prepared.forward();  // the pass starts from this O and LSE
      stream_.synchronize();
    }
    const auto launch = [&] {
      if (options.pass != Pass::kBackward) prepared.forward();
      if (options.pass != Pass::kForward) prepared.backward();
    };
    const HostOutputs outputs = run_once(options.pass, launch);
    RunOutcome outcome;
    outcome.is_bitwise_repeatable = same_bytes(outputs, run_once(options.pass, launch));
    if (options.pass == Pass::kForward) {
      outcome.rows = gather_rows(data_.problem(), outputs.o, outputs.lse, data_.plan().rows);
    } else {
      outcome.gradients = gather_gradients(data_.problem(), {outputs.dq, outputs.dk, outputs.dv},
                                           gradients_->plan().rows);
    }
    if (options.timing.is_wanted) outcome.timing = timer_.time(stream_, launch, options.timing);
    outcome.workspace_bytes = prepared.workspace_bytes;
    const std::size_t free_now = free_device_bytes();
    if (free_now <= free_before_) outcome.peak_bytes = free_before_ - free_now;
    return outcome;
  }

 private:
  ForwardTensors forward_tensors() const {
    return {q_.as<Half>(), k_.as<Half>(), v_.as<Half>(), o_.as<Half>(), lse_.as<float>()};
  }
  BackwardTensors backward_tensors() const {
    return {q_.as<Half>(),
            k_.as<Half>(),
            v_.as<Half>(),
            o_.as<Half>(),
            buffers_->d_o.as<Half>(),
            lse_.as<float>(),
            buffers_->dq.as<Half>(),
            buffers_->dk.as<Half>(),
            buffers_->dv.as<Half>()};
  }

  Prepared prepare(const Contender& contender, const RunOptions& options) const {
    return contender.kernel != nullptr ? prepare_kernel(*contender.kernel, options)
                                       : prepare_unfused(contender, options);
  }

  Prepared prepare_kernel(const AttentionKernel& kernel, const RunOptions& options) const {
    Prepared prepared;
    prepared.forward = [this, &kernel] {
      kernel.forward.launch(data_.problem(), forward_tensors(), stream_.get());
    };
    if (options.pass == Pass::kForward) return prepared;
    const bool is_deterministic = options.is_deterministic;
    prepared.workspace_bytes = kernel.backward.workspace_bytes(data_.problem(), is_deterministic);
    const auto workspace = std::make_shared<DeviceBuffer>(prepared.workspace_bytes);
    prepared.backward = [this, &kernel, workspace, is_deterministic] {
      kernel.backward.launch(data_.problem(), backward_tensors(), workspace->as<void>(),
                             is_deterministic, stream_.get());
    };
    return prepared;
  }

  Prepared prepare_unfused(const Contender& contender, const RunOptions& options) const {
    const auto precision =
        contender.name == "cublas-fp32" ? UnfusedPrecision::kFp32 : UnfusedPrecision::kFp16;
    const auto unfused = std::make_shared<CublasUnfused>(
        data_.problem(), precision,
        options.pass == Pass::kForward ? Pass::kForward : Pass::kBackward);
    return {[this, unfused] { unfused->forward(forward_tensors(), stream_.get()); },
            [this, unfused] { unfused->backward(backward_tensors(), stream_.get()); },
            unfused->workspace_bytes()};
  }

  void poison(const DeviceBuffer& buffer) const {
    CUDA_CHECK(cudaMemsetAsync(buffer.as<void>(), kPoisonByte, buffer.bytes(), stream_.get()));
  }

  /// Outputs that the pass writes are poisoned before and fetched after it.
  HostOutputs run_once(Pass pass, const std::function<void()>& launch) const {
    const bool writes_o = pass != Pass::kBackward, writes_gradients = pass != Pass::kForward;
    if (writes_o) {
      poison(o_);
      poison(lse_);
    }
    if (writes_gradients) {
      for (const DeviceBuffer* buffer : {&buffers_->dq, &buffers_->dk, &buffers_->dv}) {
        poison(*buffer);
      }
    }
    launch();
    stream_.synchronize();
    HostOutputs outputs;
    if (writes_o) {
      outputs.o = download<Half>(o_);
      outputs.lse = download<float>(lse_);
    }
    if (writes_gradients) {
      outputs.dq = download<Half>(buffers_->dq);
      outputs.dk = download<Half>(buffers_->dk);
      outputs.dv = download<Half>(buffers_->dv);
    }
    return outputs;
  }

  const ProblemData& data_;
  GradientData* gradients_;
  GpuTimer& timer_;
  CudaStream stream_;
  std::size_t free_before_;
  DeviceBuffer q_, k_, v_, o_, lse_;
  std::optional<GradientBuffers> buffers_;
};

}  // namespace

std::unique_ptr<LoadedProblem> load_on_gpu(const ProblemData& data, GradientData* gradients,
                                           GpuTimer& timer) {
  return std::make_unique<GpuProblem>(data, gradients, timer);
}

}  // namespace sparkbench
