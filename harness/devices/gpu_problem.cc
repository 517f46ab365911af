#include "harness/devices/gpu_problem.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/devices/gpu_memory.h"
#include "harness/devices/gpu_own_outputs.h"
#include "harness/devices/gpu_tensors.h"
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
        tensors_(data, gradients, stream_),
        tensor_bytes_(std::max(tensors_.bytes(), taken_since(free_before_))) {}

  RunOutcome run(const Candidate& candidate, const RunOptions& options) override {
    begin();
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
    outcome.is_bitwise_repeatable = same_bits(first, outputs);
    keep_verified(candidate, options.method, outputs);
    if (options.keeps_outputs && options.pass == Pass::kBackward) {
      PassOutputs of_forward = tensors_.download_outputs(Pass::kForward);
      outputs.o = std::move(of_forward.o);
      outputs.lse = std::move(of_forward.lse);
    }
    outputs = as_host_keeps(data_.element(), std::move(outputs));
    if (prepared.own_outputs) outcome.has_lse = prepared.located->lse != nullptr;
    if (!outputs.o.empty()) {
      outcome.rows = gather_rows(data_.problem(), outputs.o, outputs.lse, data_.plan().rows);
    }
    if (options.pass != Pass::kForward) {
      outcome.gradients = gather_gradients(data_.problem(), {outputs.dq, outputs.dk, outputs.dv},
                                           gradients_->plan().rows);
    }
    outcome.violation = tensors_.find_violation(options.pass);
    are_tensors_reset_ = outcome.violation.empty();
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
    begin();
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
    return timer_.time(launches, options.method, around);
  }

  std::optional<PassParts> time_parts(const Candidate& candidate,
                                      const RunOptions& options) override {
    begin();
    const Prepared prepared = prepare(candidate, options);
    if (!prepared.in_parts) return std::nullopt;
    run_what_precedes(prepared, options.pass);
    return timer_.time_parts(prepared.in_parts, options.method);
  }

  void profile(const Candidate& candidate, const RunOptions& options) override {
    begin();
    const Prepared prepared = prepare(candidate, options);
    run_what_precedes(prepared, options.pass);
    const Launch launch = launch_of(prepared, options.pass);
    stream_.synchronize();
    const ProfiledRegion region;
    launch();
    stream_.synchronize();
  }

 private:
  /// Undoes what an earlier kernel or TimedCheck wrote to inputs and guards: no kernel is called
  /// wrong for what another one did.
  void begin() {
    if (!std::exchange(are_tensors_reset_, false)) tensors_.reset();
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
      const ForwardTensors to = tensors_.forward();
      own_.copy_forward(*prepared.located, to.o, to.lse);
    }
    if (pass != Pass::kForward) own_.copy_gradients(*prepared.located, tensors_.backward());
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

  /// `options` must outlive the result.
  Prepared prepare(const Candidate& candidate, const RunOptions& options) const {
    return candidate.prepare({data_.problem(),
                              {data_.element(), data_.layout()},
                              options,
                              tensors_.forward(),
                              tensors_.backward(),
                              tensors_.lengths(),
                              stream_.get(),
                              cublas_,
                              allocate_for_candidate,
                              upload_for_candidate});
  }

  /// For make_checks(): of the kernel that ran last, and of references, which are timed beside it.
  void keep_verified(const Candidate& candidate, const Method& method, PassOutputs outputs) {
    std::erase_if(verified_,
                  [](const auto& kept) { return kept.first->role() != Role::kReference; });
    if (is_timed(method) && method.cache == "cold") verified_[&candidate] = std::move(outputs);
  }

  using TensorCopies = std::vector<std::shared_ptr<const TensorCopy>>;

  static TensorCopies copies_of(const std::vector<CheckedTensor>& tensors) {
    TensorCopies copies;
    for (const CheckedTensor& tensor : tensors) {
      copies.push_back(std::make_shared<const TensorCopy>(tensor));
    }
    return copies;
  }

  /// Copies of the outputs that were verified.
  TensorCopies copy_outputs(Pass pass, const PassOutputs& verified) const {
    tensors_.upload_outputs(pass, verified);
    return copies_of(tensors_.outputs(pass));
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
      const TensorCopies shared_inputs = copies_of(tensors_.inputs(options.pass));
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        const auto verified = verified_.find(candidates[i]);
        checks.emplace_back();
        if (verified == verified_.end()) continue;
        if (drops && candidates[i]->draws_own_dropout_mask()) continue;
        TensorCopies inputs = shared_inputs;
        if (options.pass == Pass::kBackward && !prepared[i].backward_needs_forward) {
          run_what_precedes(prepared[i], options.pass);
          const TensorCopies forward = copies_of(tensors_.outputs(Pass::kForward));
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

  /// Poisons the outputs that the pass writes, and fetches them afterwards.
  PassOutputs run_once(const Prepared& prepared, Pass pass, const Launch& launch) const {
    if (prepared.own_outputs) own_.poison(*prepared.located, pass);
    tensors_.poison_outputs(pass);
    launch();
    deliver(prepared, pass);
    stream_.synchronize();
    return tensors_.download_outputs(pass);
  }

  const ProblemData& data_;
  GradientData* gradients_;
  GpuTimer& timer_;
  std::shared_ptr<cublasContext> cublas_;
  const CudaStream& stream_;
  std::uint64_t free_before_;  // before any tensor was allocated
  GpuTensors tensors_;
  bool are_tensors_reset_ = true;
  GpuOwnOutputs own_{tensors_.shapes(), stream_};
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
