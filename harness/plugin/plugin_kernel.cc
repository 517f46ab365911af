#include "harness/plugin/plugin_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "harness/devices/chip_arithmetic.h"
#include "kernels/base/unsupported_error.h"
#include "kernels/machine/out_of_device_memory.h"
#include "results/record/safe_text.h"

namespace sparkbench {
namespace {

constexpr std::size_t kWorkspaceAlignment = 256;
constexpr unsigned char kPoisonByte = 0x7f;  // 0x7f7f is a NaN in fp16
constexpr Half kPoison{0x7e5a};              // a NaN that no kernel produces

CandidateInfo info_of(const CheckedKernel& kernel) {
  return {
      kernel.name, kernel.summary, CandidateKind::kVendorKernel,
      kernel.table.accumulator == SPARKBENCH_ACC_FP16 ? Accumulator::kFp16 : Accumulator::kFp32};
}

/// Text from the plug-in, for a record.
std::string words_of(const char* text) { return bounded(one_line(text)); }

/// Throws for any status but OK, with the kernel's own words.
void check(const CheckedKernel& kernel, const char* call, int32_t status) {
  if (status == SPARKBENCH_OK) return;
  const char* const why = kernel.table.last_error != nullptr ? kernel.table.last_error() : nullptr;
  const std::string words = why != nullptr && *why != '\0' ? words_of(why) : "it does not say why";
  const std::string text = fmt::format("{}: {}: {}", kernel.name, call, words);
  if (status == SPARKBENCH_UNSUPPORTED) throw UnsupportedError(text);
  if (status == SPARKBENCH_OUT_OF_MEMORY) throw OutOfDeviceMemory(text);
  if (status == SPARKBENCH_ERROR) throw std::runtime_error(text);
  throw std::runtime_error(fmt::format("{}: {} returned {}, which is no sparkbench_status: {}",
                                       kernel.name, call, status, words));
}

std::size_t ask_workspace(const sparkbench_kernel& table, const PluginProblem& problem) {
  return table.workspace_bytes != nullptr ? table.workspace_bytes(problem.get()) : 0;
}

/// A kernel prepared for a problem; destroyed with it.
class PluginPlan {
 public:
  /// The kernel and the problem must outlive it.
  PluginPlan(const CheckedKernel& kernel, const PluginProblem& problem, void* workspace,
             void* stream)
      : kernel_(kernel), stream_(stream) {
    const auto start = std::chrono::steady_clock::now();
    check(kernel, "prepare", kernel.table.prepare(problem.get(), workspace, stream, &plan_));
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  ~PluginPlan() {
    if (kernel_.table.destroy != nullptr) kernel_.table.destroy(plan_);
  }
  PluginPlan(const PluginPlan&) = delete;
  PluginPlan& operator=(const PluginPlan&) = delete;

  void forward(const sparkbench_tensors& tensors) const {
    check(kernel_, "forward", kernel_.table.forward(plan_, &tensors, stream_));
  }
  void backward(const sparkbench_tensors& tensors) const {
    check(kernel_, "backward", kernel_.table.backward(plan_, &tensors, stream_));
  }
  std::uint64_t peak_bytes() const { return kernel_.table.peak_bytes(plan_); }
  double seconds() const { return seconds_; }  // that prepare() took
  bool has_own_outputs() const { return kernel_.table.outputs != nullptr; }
  OwnOutputs outputs() const {
    sparkbench_tensors tensors{};
    tensors.struct_bytes = sizeof tensors;
    check(kernel_, "outputs", kernel_.table.outputs(plan_, &tensors, stream_));
    return own_outputs(tensors);
  }

 private:
  const CheckedKernel& kernel_;
  void* stream_;
  void* plan_ = nullptr;
  double seconds_ = 0;
};

/// What the closures of a GPU's pass share.
struct GpuRun {
  GpuRun(const CheckedKernel& of, const GpuWork& work, const PluginDevice& device)
      : kernel(of),
        problem(work.problem, work.options.pass, work.options.is_deterministic, device),
        workspace_bytes(ask_workspace(kernel.table, problem)),
        workspace(workspace_bytes > 0 ? work.allocate(workspace_bytes) : nullptr),
        tensors(plugin_tensors(work.forward, work.backward, work.lengths)),
        plan(kernel, problem, workspace.get(), work.stream) {
    if (plan.has_own_outputs()) take_outputs_away(tensors);
  }

  CheckedKernel kernel;
  PluginProblem problem;
  std::size_t workspace_bytes;
  std::shared_ptr<void> workspace;
  sparkbench_tensors tensors;
  PluginPlan plan;
};

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};

/// Poisoned, because a kernel must not count on what it holds.
std::unique_ptr<void, FreeMemory> host_workspace(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t whole =
      (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  std::unique_ptr<void, FreeMemory> memory(std::aligned_alloc(kWorkspaceAlignment, whole));
  if (whole < bytes || memory == nullptr) throw std::bad_alloc();
  std::memset(memory.get(), kPoisonByte, whole);
  return memory;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

bool same_bits(const PassOutputs& a, const PassOutputs& b) {
  return same_bits(a.o, b.o) && same_bits(a.lse, b.lse) && same_bits(a.dq, b.dq) &&
         same_bits(a.dk, b.dk) && same_bits(a.dv, b.dv);
}

std::uint32_t bits_of(Half value) { return value.bits; }
std::uint32_t bits_of(float value) { return float_bits(value); }

/// An input that a kernel gets as a copy, so that it cannot change what the oracle reads.
class HostInput {
 public:
  HostInput(const char* name, const Half* data, std::size_t count)
      : name_(name), original_(data), copy_(data, data + count) {}

  const Half* data() const { return copy_.data(); }
  const char* name() const { return name_; }
  bool is_unchanged() const {
    return std::memcmp(copy_.data(), original_, copy_.size() * sizeof(Half)) == 0;
  }

 private:
  const char* name_;
  const Half* original_;
  std::vector<Half> copy_;
};

/// A problem's inputs in the host's memory, and a plan's passes over them.
class HostRun {
 public:
  explicit HostRun(const HostWork& work)
      : problem_(work.data.problem()),
        inputs_{{"q", work.data.inputs().q.data(), problem_.q_elements()},
                {"k", work.data.inputs().k.data(), problem_.k_elements()},
                {"v", work.data.inputs().v.data(), problem_.k_elements()}},
        has_backward_(work.options.pass != Pass::kForward) {
    if (has_backward_) {
      inputs_.emplace_back("d_o", work.gradients->d_o().data(), problem_.q_elements());
    }
  }

  /// All outputs, from poisoned buffers.
  PassOutputs compute(const PluginPlan& plan) {
    PassOutputs outputs;
    outputs.o.assign(problem_.q_elements() + kGuard, kPoison);
    outputs.lse.assign(problem_.lse_elements() + kGuard, kPoisonFloat);
    if (has_backward_) {
      outputs.dq.assign(problem_.q_elements() + kGuard, kPoison);
      outputs.dk.assign(problem_.k_elements() + kGuard, kPoison);
      outputs.dv.assign(problem_.k_elements() + kGuard, kPoison);
    }
    sparkbench_tensors tensors = tensors_with(outputs);
    if (plan.has_own_outputs()) {
      take_outputs_away(tensors);
      poison(plan.outputs());
    }
    plan.forward(tensors);
    if (has_backward_) plan.backward(tensors);
    if (plan.has_own_outputs()) copy(plan.outputs(), outputs);
    find_violations(outputs);
    return outputs;
  }

  /// What the passes wrote besides their outputs: "its input k"; empty if nothing.
  const std::string& violation() const { return violation_; }

 private:
  /// Elements behind each output that nobody may write.
  static constexpr std::size_t kGuard = 64;
  static constexpr float kPoisonFloat = std::numeric_limits<float>::quiet_NaN();

  /// Takes the guards away.
  void find_violations(PassOutputs& outputs) {
    for (const HostInput& input : inputs_) {
      if (!input.is_unchanged()) violation_ = fmt::format("its input {}", input.name());
    }
    const auto check = [&](auto& output, const char* name, const auto& poison) {
      if (output.empty()) return;
      for (auto guard = output.end() - kGuard; guard != output.end(); ++guard) {
        if (bits_of(*guard) == bits_of(poison)) continue;
        violation_ = fmt::format("memory behind {}", name);
      }
      output.resize(output.size() - kGuard);
    };
    check(outputs.o, "o", kPoison);
    check(outputs.lse, "lse", kPoisonFloat);
    check(outputs.dq, "dq", kPoison);
    check(outputs.dk, "dk", kPoison);
    check(outputs.dv, "dv", kPoison);
  }

  Problem layout() const { return problem_.lengths ? problem_.packed() : problem_; }

  void poison(const OwnOutputs& own) const {
    const auto fill = [](const TensorView<Half>& view, const TensorShape& shape) {
      if (view.data == nullptr) return;
      for_each_row(shape, [&](int b, int s, int h) {
        std::fill_n(view.row(b, s, h), shape.head_dim, kPoison);
      });
    };
    fill(own.o, query_shape(layout()));
    fill(own.dq, query_shape(layout()));
    fill(own.dk, key_shape(layout()));
    fill(own.dv, key_shape(layout()));
    if (own.lse != nullptr) {
      std::fill_n(own.lse, problem_.lse_elements(), std::numeric_limits<float>::quiet_NaN());
    }
  }

  void copy(const OwnOutputs& own, PassOutputs& outputs) const {
    const auto take = [](const TensorView<Half>& view, const TensorShape& shape,
                         std::vector<Half>& to) {
      if (view.data == nullptr) return;
      const std::vector<Half> copy = contiguous_copy(view, shape);
      std::copy(copy.begin(), copy.end(), to.begin());
    };
    take(own.o, query_shape(layout()), outputs.o);
    take(own.dq, query_shape(layout()), outputs.dq);
    take(own.dk, key_shape(layout()), outputs.dk);
    take(own.dv, key_shape(layout()), outputs.dv);
    if (own.lse != nullptr) {
      std::copy_n(own.lse, problem_.lse_elements(), outputs.lse.begin());
    }
  }

  sparkbench_tensors tensors_with(PassOutputs& outputs) const {
    const Problem layout = this->layout();
    const Half *q = inputs_[0].data(), *k = inputs_[1].data(), *v = inputs_[2].data();
    const ForwardTensors forward =
        contiguous_tensors(layout, q, k, v, outputs.o.data(), outputs.lse.data());
    const PackedLengths lengths =
        problem_.lengths ? packed_lengths(problem_) : PackedLengths{0, nullptr, nullptr};
    if (!has_backward_) return plugin_tensors(forward, BackwardTensors{}, lengths);
    return plugin_tensors(
        forward,
        contiguous_tensors(layout, q, k, v, outputs.o.data(), inputs_[3].data(), outputs.lse.data(),
                           outputs.dq.data(), outputs.dk.data(), outputs.dv.data()),
        lengths);
  }

  const Problem& problem_;
  std::vector<HostInput> inputs_;  // q, k, v, and d_o for a backward pass
  bool has_backward_;
  std::string violation_;
};

}  // namespace

PluginKernel::PluginKernel(CheckedKernel kernel, const DeviceInfo& device, std::optional<int> index,
                           bool is_deterministic)
    : Candidate(info_of(kernel)),
      kernel_(std::move(kernel)),
      sm_(device.sm.value()),
      device_(index ? PluginDevice{SPARKBENCH_CUDA, sm_, *index} : PluginDevice{}),
      is_deterministic_(is_deterministic) {}

Support PluginKernel::supports(const Problem& problem, Pass pass) const {
  if (kernel_.table.backend != device_.backend) {
    const bool is_on_gpu = device_.backend == SPARKBENCH_CUDA;
    return {is_on_gpu ? fmt::format("{} runs on the host, where it is verified and not timed; "
                                    "allowed: --device emulated-v100",
                                    name())
                      : fmt::format("{} runs on GPUs only; allowed: --device cuda:0", name())};
  }
  if (pass != Pass::kForward && kernel_.table.backward == nullptr) {
    return {fmt::format("{} has no backward pass", name())};
  }
  if (kernel_.table.supports == nullptr) return {};
  const PluginProblem asked(problem, pass, is_deterministic_, device_);
  const char* const why = kernel_.table.supports(asked.get());
  if (why == nullptr) return {};
  return {fmt::format("{}: {}", name(), *why != '\0' ? words_of(why) : "it does not say why")};
}

std::uint64_t PluginKernel::workspace_bytes(const Problem& problem, Pass pass,
                                            bool is_deterministic) const {
  if (!supports(problem, pass)) return 0;
  const PluginProblem asked(problem, pass, is_deterministic, device_);
  return ask_workspace(kernel_.table, asked);
}

const ArithmeticProfile& PluginKernel::arithmetic() const { return tensor_core_profile(sm_); }

Libraries PluginKernel::libraries() const {
  Libraries libraries;
  if (kernel_.version) libraries[kernel_.name] = *kernel_.version;
  if (kernel_.file_hash) libraries[kernel_.file_name] = file_hash_text(*kernel_.file_hash);
  return libraries;
}

RunOutcome PluginKernel::run_on_host(const HostWork& work) const {
  const Problem& problem = work.data.problem();
  const Pass pass = work.options.pass;
  const PluginProblem asked(problem, pass, work.options.is_deterministic, device_);
  RunOutcome outcome;
  outcome.workspace_bytes = ask_workspace(kernel_.table, asked);
  const auto workspace = host_workspace(outcome.workspace_bytes);
  const PluginPlan plan(kernel_, asked, workspace.get(), nullptr);
  HostRun run(work);
  outcome.prepare_s = plan.seconds();
  const PassOutputs first = run.compute(plan);
  // The second run is judged: what a kernel kept of the first one has been poisoned.
  PassOutputs outputs = run.compute(plan);
  if (plan.has_own_outputs()) outcome.has_lse = plan.outputs().lse != nullptr;
  outcome.is_bitwise_repeatable = same_bits(first, outputs);
  outcome.violation = run.violation();
  if (pass != Pass::kBackward || work.options.keeps_outputs) {
    outcome.rows = gather_rows(problem, outputs.o, outputs.lse, work.data.plan().rows);
  }
  if (pass != Pass::kForward) {
    outcome.gradients = gather_gradients(problem, {outputs.dq, outputs.dk, outputs.dv},
                                         work.gradients->plan().rows);
  }
  if (work.options.keeps_outputs) outcome.outputs = std::move(outputs);
  return outcome;
}

Prepared PluginKernel::prepare(const GpuWork& work) const {
  const auto run = std::make_shared<const GpuRun>(kernel_, work, device_);
  Prepared prepared;
  prepared.workspace_bytes = run->workspace_bytes;
  prepared.forward = [run] { run->plan.forward(run->tensors); };
  if (work.options.pass != Pass::kForward) {
    prepared.backward = [run] { run->plan.backward(run->tensors); };
  }
  prepared.seconds = run->plan.seconds();
  if (run->plan.has_own_outputs()) {
    prepared.own_outputs = [run] { return run->plan.outputs(); };
    prepared.backward_needs_forward = true;
  }
  if (kernel_.table.peak_bytes != nullptr) {
    prepared.more_peak_bytes = [run] { return run->plan.peak_bytes(); };
  }
  return prepared;
}

}  // namespace sparkbench
