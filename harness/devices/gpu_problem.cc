#include "harness/devices/gpu_problem.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/devices/gpu_memory.h"
#include "harness/devices/gpu_own_outputs.h"
#include "harness/devices/profiled_region.h"
#include "harness/devices/timed_check.h"
#include "kernels/machine/cuda_resources.h"

namespace sparkbench {
namespace {

/// How much less free memory the device has now; the driver allocates in blocks of 2 MiB.
std::uint64_t taken_since(std::uint64_t free_before) {
  const std::uint64_t free_now = free_device_bytes();
  return free_now < free_before ? free_before - free_now : 0;
}

template <class Buffer, class T>
void upload(const Buffer& buffer, std::span<const T> host) {
  CUDA_CHECK(cudaMemcpy(buffer.template as<void>(), host.data(), host.size_bytes(),
                        cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaDeviceSynchronize());  // a non-blocking stream would not wait for the copy
}

template <class T, class Buffer>
std::vector<T> download(const Buffer& buffer) {
  std::vector<T> host(buffer.bytes() / sizeof(T));
  CUDA_CHECK(
      cudaMemcpy(host.data(), buffer.template as<void>(), buffer.bytes(), cudaMemcpyDeviceToHost));
  return host;
}

/// dO and the gradients, if a backward pass runs.
struct GradientBuffers {
  explicit GradientBuffers(const Problem& problem)
      : d_o(problem.q_elements() * sizeof(Half)),
        dq(problem.q_elements() * sizeof(Half)),
        dk(problem.k_elements() * sizeof(Half)),
        dv(problem.k_elements() * sizeof(Half)) {}
  DeviceBuffer d_o;
  GuardedBuffer dq, dk, dv;
};

/// The offsets of varlen sequences.
struct SequenceOffsets {
  explicit SequenceOffsets(const SequenceLengths& of)
      : batch(of.batch()),
        q(of.cu_seqlens_q().size() * sizeof(int)),
        k(of.cu_seqlens_k().size() * sizeof(int)) {
    upload(q, std::span<const int>(of.cu_seqlens_q()));
    upload(k, std::span<const int>(of.cu_seqlens_k()));
  }
  PackedLengths lengths() const { return {batch, q.as<int>(), k.as<int>()}; }

  int batch;
  DeviceBuffer q, k;
};

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

bool same_bytes(const PassOutputs& a, const PassOutputs& b) {
  return same_bytes(a.o, b.o) && same_bytes(a.lse, b.lse) && same_bytes(a.dq, b.dq) &&
         same_bytes(a.dk, b.dk) && same_bytes(a.dv, b.dv);
}

/// Uploads what the host keeps.
void upload_input(const DeviceBuffer& buffer, ElementType element, std::span<const Half> kept) {
  upload(buffer, std::span<const Half>(as_kernel_has(element, kept)));
}

bool holds(const DeviceBuffer& buffer, ElementType element, std::span<const Half> kept) {
  return same_bytes(download<Half>(buffer), as_kernel_has(element, kept));
}

class GpuProblem : public LoadedProblem {
 public:
  GpuProblem(const ProblemData& data, GradientData* gradients, GpuTimer& timer,
             std::shared_ptr<cublasContext> cublas)
      : data_(data),
        gradients_(gradients),
        timer_(timer),
        cublas_(std::move(cublas)),
        stream_(timer.stream()),
        free_before_(free_device_bytes()),
        q_(data.inputs().q.size_bytes()),
        k_(data.inputs().k.size_bytes()),
        v_(data.inputs().v.size_bytes()),
        o_(data.problem().q_elements() * sizeof(Half)),
        lse_(data.problem().lse_elements() * sizeof(float)),
        layout_(data.problem().lengths ? data.problem().packed() : data.problem()) {
    if (const auto& lengths = data.problem().lengths) offsets_.emplace(*lengths);
    if (gradients != nullptr) buffers_.emplace(data.problem());
    upload_inputs();
    tensor_bytes_ = std::max(bytes_of_tensors(), taken_since(free_before_));
  }

  RunOutcome run(const Candidate& candidate, const RunOptions& options) override {
    const std::optional<double> prepare_s = load_modules(candidate, options);
    const std::uint64_t free_before = free_device_bytes();
    const Prepared prepared = prepare(candidate, options);
    run_what_precedes(prepared, options.pass);
    const Launch launch = launch_of(prepared, options.pass);
    const PassOutputs first = run_once(prepared, options.pass, launch);
    // The second run is judged: what a kernel kept of the first one has been poisoned.
    PassOutputs outputs = run_once(prepared, options.pass, launch);
    RunOutcome outcome;
    outcome.prepare_s = prepare_s;
    outcome.is_bitwise_repeatable = same_bytes(first, outputs);
    keep_verified(candidate, options.method, outputs);
    if (options.keeps_outputs && options.pass == Pass::kBackward) download_forward(outputs);
    outputs = as_host_keeps(data_.element(), std::move(outputs));
    if (prepared.own_outputs) outcome.has_lse = prepared.located->lse != nullptr;
    if (!outputs.o.empty()) {
      outcome.rows = gather_rows(data_.problem(), outputs.o, outputs.lse, data_.plan().rows);
    }
    if (options.pass != Pass::kForward) {
      outcome.gradients = gather_gradients(data_.problem(), {outputs.dq, outputs.dk, outputs.dv},
                                           gradients_->plan().rows);
    }
    outcome.violation = find_violation(options.pass);
    if (options.keeps_outputs) outcome.outputs = std::move(outputs);
    outcome.workspace_bytes = prepared.workspace_bytes;
    outcome.peak_bytes =
        tensor_bytes_ + (prepared.more_peak_bytes
                             ? prepared.workspace_bytes + prepared.more_peak_bytes()
                             : std::max(prepared.workspace_bytes, taken_since(free_before)));
    return outcome;
  }

  std::vector<Timing> time(std::span<const Candidate* const> candidates,
                           const RunOptions& options) override {
    std::vector<Prepared> prepared;
    for (const Candidate* candidate : candidates) {
      try {
        prepared.push_back(prepare(*candidate, options));
      } catch (const OutOfDeviceMemory&) {
        if (prepared.empty()) throw;
        break;
      }
    }
    std::vector<Launch> launches;
    for (const Prepared& one : prepared) {
      run_what_precedes(one, options.pass);
      launches.push_back(launch_of(one, options.pass));
    }
    const std::vector<std::unique_ptr<TimedCheck>> checks =
        make_checks(candidates.first(prepared.size()), prepared, options);
    std::vector<SampleCheck> around;
    for (std::size_t i = 0; i < checks.size(); ++i) {
      around.push_back(checks[i] == nullptr ? SampleCheck{}
                                            : sample_check(*checks[i], prepared[i], options.pass));
    }
    std::vector<Timing> timings = timer_.time(launches, options.method, around);
    if (!checks.empty()) upload_inputs();
    return timings;
  }

  std::optional<PassParts> time_parts(const Candidate& candidate,
                                      const RunOptions& options) override {
    const Prepared prepared = prepare(candidate, options);
    if (!prepared.in_parts) return std::nullopt;
    run_what_precedes(prepared, options.pass);
    return timer_.time_parts(prepared.in_parts, options.method);
  }

  void profile(const Candidate& candidate, const RunOptions& options) override {
    const Prepared prepared = prepare(candidate, options);
    run_what_precedes(prepared, options.pass);
    const Launch launch = launch_of(prepared, options.pass);
    stream_.synchronize();
    const ProfiledRegion region;
    launch();
    stream_.synchronize();
  }

 private:
  ForwardTensors forward_tensors() const {
    return contiguous_tensors(layout_, q_.as<Half>(), k_.as<Half>(), v_.as<Half>(), o_.as<Half>(),
                              lse_.as<float>());
  }
  BackwardTensors backward_tensors() const {
    return contiguous_tensors(layout_, q_.as<Half>(), k_.as<Half>(), v_.as<Half>(), o_.as<Half>(),
                              buffers_->d_o.as<Half>(), lse_.as<float>(), buffers_->dq.as<Half>(),
                              buffers_->dk.as<Half>(), buffers_->dv.as<Half>());
  }

  static void forward(const Prepared& prepared) {
    prepared.forward();
    if (prepared.own_outputs) *prepared.located = prepared.own_outputs();
  }
  static void backward(const Prepared& prepared) {
    prepared.backward();
    if (prepared.own_outputs) *prepared.located = prepared.own_outputs();
  }

  /// A backward pass starts from the O and LSE of a forward pass.
  void run_what_precedes(const Prepared& prepared, Pass pass) const {
    if (pass != Pass::kBackward) return;
    forward(prepared);
    deliver(prepared, Pass::kForward);
    stream_.synchronize();
  }

  /// Enqueues copies of outputs that lie elsewhere. Not part of what is timed.
  void deliver(const Prepared& prepared, Pass pass) const {
    if (!prepared.own_outputs) return;
    if (pass != Pass::kBackward) {
      own_.copy_forward(*prepared.located, o_.as<Half>(), lse_.as<float>());
    }
    if (pass != Pass::kForward) {
      own_.copy_gradients(*prepared.located, buffers_->dq.as<Half>(), buffers_->dk.as<Half>(),
                          buffers_->dv.as<Half>());
    }
  }

  /// The result must not outlive `prepared`.
  static Launch launch_of(const Prepared& prepared, Pass pass) {
    return [&prepared, pass] {
      if (pass != Pass::kBackward) forward(prepared);
      if (pass != Pass::kForward) backward(prepared);
    };
  }

  /// CUDA loads a kernel's code at its first launch. That memory must not be counted as the
  /// kernel's. Returns Prepared::seconds.
  std::optional<double> load_modules(const Candidate& candidate, const RunOptions& options) const {
    const Prepared prepared = prepare(candidate, options);
    run_what_precedes(prepared, options.pass);
    launch_of(prepared, options.pass)();
    stream_.synchronize();
    return prepared.seconds;
  }

  std::uint64_t bytes_of_tensors() const {
    std::uint64_t bytes = q_.bytes() + k_.bytes() + v_.bytes() + o_.bytes() + lse_.bytes();
    if (offsets_) bytes += offsets_->q.bytes() + offsets_->k.bytes();
    if (buffers_) {
      bytes += buffers_->d_o.bytes() + buffers_->dq.bytes() + buffers_->dk.bytes() +
               buffers_->dv.bytes();
    }
    return bytes;
  }

  /// `options` must outlive the result.
  Prepared prepare(const Candidate& candidate, const RunOptions& options) const {
    return candidate.prepare({data_.problem(), data_.element(), options, forward_tensors(),
                              buffers_ ? backward_tensors() : BackwardTensors{},
                              offsets_ ? offsets_->lengths() : PackedLengths{}, stream_.get(),
                              cublas_, allocate_for_candidate, upload_for_candidate});
  }

  template <class Buffer>
  void poison(const Buffer& buffer) const {
    CUDA_CHECK(
        cudaMemsetAsync(buffer.template as<void>(), kPoisonByte, buffer.bytes(), stream_.get()));
  }

  void upload_inputs() {
    const ElementType element = data_.element();
    upload_input(q_, element, data_.inputs().q);
    upload_input(k_, element, data_.inputs().k);
    upload_input(v_, element, data_.inputs().v);
    if (gradients_ != nullptr) upload_input(buffers_->d_o, element, gradients_->d_o());
  }

  /// The memory that a pass wrote but may only read, or not touch. The device must be idle.
  std::string find_violation(Pass pass) const {
    const ForwardInputs inputs = data_.inputs();
    const ElementType element = data_.element();
    if (!holds(q_, element, inputs.q)) return "its input q";
    if (!holds(k_, element, inputs.k)) return "its input k";
    if (!holds(v_, element, inputs.v)) return "its input v";
    if (pass != Pass::kForward && !holds(buffers_->d_o, element, gradients_->d_o())) {
      return "its input dO";
    }
    if (!o_.is_intact()) return "memory around o";
    if (!lse_.is_intact()) return "memory around lse";
    if (!buffers_) return "";
    if (!buffers_->dq.is_intact()) return "memory around dq";
    if (!buffers_->dk.is_intact()) return "memory around dk";
    return buffers_->dv.is_intact() ? "" : "memory around dv";
  }

  /// For make_checks(): of the kernel that ran last, and of references, which are timed beside it.
  void keep_verified(const Candidate& candidate, const Method& method, PassOutputs outputs) {
    std::erase_if(verified_,
                  [](const auto& kept) { return kept.first->role() != Role::kReference; });
    if (is_timed(method) && method.cache == "cold") verified_[&candidate] = std::move(outputs);
  }

  RowShape shape_of(bool is_lse, bool is_of_keys) const {
    return {layout_.batch, is_of_keys ? layout_.seqlen_k : layout_.seqlen_q,
            is_of_keys ? layout_.key_heads() : layout_.heads, is_lse ? 1 : layout_.head_dim,
            is_lse};
  }
  CheckedTensor queries(std::string name, void* data, unsigned signs) const {
    return {std::move(name), data, false, data_.element(), shape_of(false, false), false, signs};
  }
  CheckedTensor keys(std::string name, void* data, unsigned signs) const {
    return {std::move(name), data, false, data_.element(), shape_of(false, true), true, signs};
  }
  CheckedTensor lse() const {
    return {"lse", lse_.as<void>(), true, data_.element(), shape_of(true, false), false, kNoSign};
  }

  using TensorCopies = std::vector<std::shared_ptr<const TensorCopy>>;

  static TensorCopies copies_of(const std::vector<CheckedTensor>& tensors) {
    TensorCopies copies;
    for (const CheckedTensor& tensor : tensors) {
      copies.push_back(std::make_shared<const TensorCopy>(tensor));
    }
    return copies;
  }

  TensorCopies copy_inputs(Pass pass) const {
    std::vector<CheckedTensor> tensors = {queries("q", q_.as<void>(), kSignOfScores),
                                          keys("k", k_.as<void>(), kSignOfScores),
                                          keys("v", v_.as<void>(), kSignOfV)};
    if (pass != Pass::kForward) {
      tensors.push_back(queries("dO", buffers_->d_o.as<void>(), kSignOfDo));
    }
    return copies_of(tensors);
  }

  /// O and LSE, which a forward pass writes and a backward pass reads.
  std::vector<CheckedTensor> forward_results() const {
    return {queries("o", o_.as<void>(), kSignOfV), lse()};
  }

  /// Copies of the outputs that were verified.
  TensorCopies copy_outputs(Pass pass, const PassOutputs& verified) const {
    std::vector<CheckedTensor> tensors;
    if (pass != Pass::kBackward) {
      upload(o_, std::span<const Half>(verified.o));
      upload(lse_, std::span<const float>(verified.lse));
      tensors = forward_results();
    }
    if (pass != Pass::kForward) {
      constexpr unsigned kSignOfScoreGradients = kSignOfV | kSignOfDo;
      upload(buffers_->dq, std::span<const Half>(verified.dq));
      upload(buffers_->dk, std::span<const Half>(verified.dk));
      upload(buffers_->dv, std::span<const Half>(verified.dv));
      tensors.push_back(
          queries("dq", buffers_->dq.as<void>(), kSignOfScoreGradients | kSignOfScores));
      tensors.push_back(keys("dk", buffers_->dk.as<void>(), kSignOfScoreGradients | kSignOfScores));
      tensors.push_back(keys("dv", buffers_->dv.as<void>(), kSignOfDo));
    }
    return copies_of(tensors);
  }

  /// One for each candidate, null where nothing says what its outputs should be: it did not run
  /// before, or draws a dropout mask of its own, or the cache is to stay warm. None for all where
  /// memory is too small for copies of the tensors.
  std::vector<std::unique_ptr<TimedCheck>> make_checks(std::span<const Candidate* const> candidates,
                                                       std::span<const Prepared> prepared,
                                                       const RunOptions& options) const {
    const bool drops = data_.problem().dropout().threshold != 0;
    std::vector<std::unique_ptr<TimedCheck>> checks;
    try {
      const TensorCopies shared_inputs = copy_inputs(options.pass);
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        const auto verified = verified_.find(candidates[i]);
        checks.emplace_back();
        if (verified == verified_.end()) continue;
        if (drops && candidates[i]->draws_own_dropout_mask()) continue;
        TensorCopies inputs = shared_inputs;
        if (options.pass == Pass::kBackward && !prepared[i].backward_needs_forward) {
          run_what_precedes(prepared[i], options.pass);
          const TensorCopies forward = copies_of(forward_results());
          inputs.insert(inputs.end(), forward.begin(), forward.end());
        }
        checks.back() = std::make_unique<TimedCheck>(std::move(inputs),
                                                     copy_outputs(options.pass, verified->second),
                                                     rotations_of(data_.problem()), stream_);
      }
    } catch (const OutOfDeviceMemory&) {
      checks.clear();
    }
    return checks;
  }

  SampleCheck sample_check(TimedCheck& check, const Prepared& prepared, Pass pass) const {
    return {[this, &check, &prepared, pass] {
              check.enqueue_inputs();
              if (pass == Pass::kBackward && prepared.backward_needs_forward) forward(prepared);
              if (prepared.own_outputs) own_.poison(*prepared.located, pass);
            },
            [this, &check, &prepared, pass] {
              deliver(prepared, pass);
              check.enqueue_comparison();
            },
            [&check] { return check.difference(); }};
  }

  void download_forward(PassOutputs& outputs) const {
    outputs.o = download<Half>(o_);
    outputs.lse = download<float>(lse_);
  }

  /// Poisons the outputs that the pass writes, and fetches them afterwards.
  PassOutputs run_once(const Prepared& prepared, Pass pass, const Launch& launch) const {
    const bool writes_o = pass != Pass::kBackward, writes_gradients = pass != Pass::kForward;
    if (prepared.own_outputs) own_.poison(*prepared.located, pass);
    if (writes_o) {
      poison(o_);
      poison(lse_);
    }
    if (writes_gradients) {
      for (const GuardedBuffer* buffer : {&buffers_->dq, &buffers_->dk, &buffers_->dv}) {
        poison(*buffer);
      }
    }
    launch();
    deliver(prepared, pass);
    stream_.synchronize();
    PassOutputs outputs;
    if (writes_o) download_forward(outputs);
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
  std::shared_ptr<cublasContext> cublas_;
  const CudaStream& stream_;
  std::uint64_t free_before_;  // before any tensor was allocated
  DeviceBuffer q_, k_, v_;
  GuardedBuffer o_, lse_;
  Problem layout_;  // with the tensors' shapes
  GpuOwnOutputs own_{layout_, stream_};
  std::optional<SequenceOffsets> offsets_;
  std::optional<GradientBuffers> buffers_;
  std::uint64_t tensor_bytes_;
  std::map<const Candidate*, PassOutputs> verified_;
};

}  // namespace

std::unique_ptr<LoadedProblem> load_on_gpu(const ProblemData& data, GradientData* gradients,
                                           GpuTimer& timer,
                                           const std::shared_ptr<cublasContext>& cublas) {
  return std::make_unique<GpuProblem>(data, gradients, timer, cublas);
}

}  // namespace sparkbench
